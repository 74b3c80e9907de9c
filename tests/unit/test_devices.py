"""Who a device is, and that it stays so when the server is started again."""

from __future__ import annotations

import os
import stat
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from pathlib import Path

import pytest

from app.deliveries import SECRET_FILE, DeviceFull, Devices, Spool, kept_secret


def test_a_device_is_who_it_was_after_a_restart(tmp_path: Path) -> None:
    device, token = Devices(tmp_path).register()

    assert Devices(tmp_path).is_genuine(device, token)


def test_a_token_is_good_for_its_device_and_its_server_only(tmp_path: Path) -> None:
    devices = Devices(tmp_path / "one")
    device, token = devices.register()
    other, other_token = devices.register()

    assert not devices.is_genuine(other, token)
    assert not devices.is_genuine(device, other_token)
    assert not Devices(tmp_path / "another").is_genuine(device, token)
    assert devices.from_cookie(f"{device}.{token}") == device
    assert devices.from_cookie(f"{other}.{token}") is None


def test_the_secret_is_for_nobody_else_to_read_and_leaves_no_draft(tmp_path: Path) -> None:
    Devices(tmp_path).register()

    assert [path.name for path in tmp_path.iterdir()] == [SECRET_FILE]
    assert stat.S_IMODE((tmp_path / SECRET_FILE).stat().st_mode) == 0o600


def test_a_server_that_nobody_visits_leaves_nothing_behind(tmp_path: Path) -> None:
    Devices(tmp_path / "runs")

    assert not (tmp_path / "runs").exists()


def test_devices_register_also_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    devices = Devices(tmp_path / "file")

    device, token = devices.register()

    assert devices.is_genuine(device, token)


def test_a_damaged_secret_is_said_and_not_used(tmp_path: Path) -> None:
    (tmp_path / SECRET_FILE).write_bytes(b"short")

    with pytest.raises(OSError, match="damaged"):
        kept_secret(tmp_path / SECRET_FILE)


def test_a_repeat_is_not_called_stored_while_the_first_may_still_fail(tmp_path: Path) -> None:
    """A phone drops what the server says it has: the first write hangs here, as on a disk that is about to fail."""
    (tmp_path / "r").mkdir()
    os.mkfifo(tmp_path / "r" / "spool.jsonl")
    spool = Spool(tmp_path, bytes_max=10_000, device_bytes_max=10_000)
    with ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(spool.accept, "r", "d-1", {"batch_id": "batch-0001"}) for _ in range(2)]
        answered, _hanging = wait(asked, timeout=0.3, return_when=FIRST_COMPLETED)
        reader = os.open(tmp_path / "r" / "spool.jsonl", os.O_RDONLY | os.O_NONBLOCK)
        told = sorted(each.result(timeout=10) for each in asked)
        os.close(reader)

    assert not answered
    assert told == [False, True]


def test_a_device_that_posts_without_end_does_not_take_the_others_room(tmp_path: Path) -> None:
    spool = Spool(tmp_path, bytes_max=10_000, device_bytes_max=1000)
    batches = [{"batch_id": f"batch-{number}", "said": "x" * 300} for number in range(3)]
    for batch in batches[:2]:
        spool.accept("r", "d-greedy", batch)

    with pytest.raises(DeviceFull, match="1000 bytes"):
        spool.accept("r", "d-greedy", batches[2])

    assert spool.accept("r", "d-modest", batches[2])
    assert spool.accept("another-run", "d-greedy", batches[2])
