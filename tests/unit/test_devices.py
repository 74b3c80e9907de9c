"""Who a device is, and that it stays so when the server is started again."""

from __future__ import annotations

import errno
import stat
import threading
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import pytest

from app.core.units import ServerUs
from app.server.deliveries import SECRET_FILE, DeviceFull, Devices, NetworkFull, Spool, read_or_create_secret
from tests.support.patience import PATIENCE_S


def spool_in(folder: Path, *, device_bytes_max: int = 10_000, network_bytes_max: int = 10_000) -> Spool:
    return Spool(
        folder,
        bytes_max=10_000,
        device_bytes_max=device_bytes_max,
        network_bytes_max=network_bytes_max,
    )


def spooled(folder: Path) -> str:
    return (folder / "r" / "spool.jsonl").read_text()


def batch(number: int) -> dict[str, Any]:
    return {"batch_id": f"batch-{number}", "said": "x" * 300}


def test_a_device_keeps_its_identity_after_a_restart(tmp_path: Path) -> None:
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


def test_a_server_without_devices_leaves_no_file(tmp_path: Path) -> None:
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
        read_or_create_secret(tmp_path / SECRET_FILE)


def test_a_repeat_is_not_called_stored_while_the_first_may_still_fail(tmp_path: Path) -> None:
    """A phone drops what the server says it has: the first write hangs here on a disk that then fails."""
    hangs, repeated, goes_on = threading.Event(), threading.Event(), threading.Event()
    failures = [OSError(errno.EIO, "the disk failed")]

    class Disk(type(tmp_path)):  # type: ignore[misc]
        def mkdir(self, *arguments: Any, **more: Any) -> None:
            hangs.set()
            goes_on.wait(PATIENCE_S)
            if failures:
                raise failures.pop()
            super().mkdir(*arguments, **more)

    spool = Spool(Disk(tmp_path), bytes_max=10_000, device_bytes_max=10_000, network_bytes_max=10_000)

    def accept() -> list[dict[str, Any]] | None:
        return spool.accept("r", "d-1", {"batch_id": "batch-0001"}, network=None)

    def accept_again() -> list[dict[str, Any]] | None:
        repeated.set()
        return accept()

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(accept)
        assert hangs.wait(PATIENCE_S)
        repeat = pool.submit(accept_again)
        assert repeated.wait(PATIENCE_S)
        # Nothing tells that the repeat waits: it has time to be answered too early, which takes microseconds.
        answered, _hanging = wait([first, repeat], timeout=0.1)
        goes_on.set()
        with pytest.raises(OSError, match="the disk failed"):
            first.result()
        is_taken = repeat.result() is not None

    assert not answered
    assert is_taken
    assert accept() is None, "now it is stored"
    assert (tmp_path / "r" / "spool.jsonl").read_text().count("batch-0001") == 1


def test_a_device_that_posts_without_end_does_not_take_the_others_room(tmp_path: Path) -> None:
    spool = spool_in(tmp_path, device_bytes_max=1000)
    for number in range(2):
        spool.accept("r", "d-greedy", batch(number), network=None)

    with pytest.raises(DeviceFull, match="1000 bytes"):
        spool.accept("r", "d-greedy", batch(2), network=None)

    assert spool.accept("r", "d-modest", batch(2), network=None) is not None
    assert spool.accept("another-run", "d-greedy", batch(2), network=None) is not None


def test_devices_that_cost_nothing_do_not_take_the_room_of_other_addresses(tmp_path: Path) -> None:
    """Whoever is stopped as one device registers another; its address stays."""
    spool = spool_in(tmp_path, device_bytes_max=500, network_bytes_max=1000)
    for number in range(2):
        spool.accept("r", f"d-{number}", batch(number), network="198.51.100.7")

    with pytest.raises(NetworkFull, match="1000 bytes"):
        spool.accept("r", "d-another", batch(2), network="198.51.100.7")

    assert spool.accept("r", "d-modest", batch(2), network="198.51.100.8") is not None
    assert spool.accept("r", "d-here", batch(2), network=None) is not None
    assert spool.accept("another-run", "d-another", batch(3), network="198.51.100.7") is not None


def test_a_batch_that_waits_while_its_device_is_deleted_is_not_written_afterwards(tmp_path: Path) -> None:
    """A deletion goes through the file once: what is being written has to be there before, and nothing comes behind."""
    hangs, goes_on = threading.Event(), threading.Event()

    class Disk(type(tmp_path)):  # type: ignore[misc]
        def mkdir(self, *arguments: Any, **more: Any) -> None:
            hangs.set()
            goes_on.wait(PATIENCE_S)
            super().mkdir(*arguments, **more)

    spool = spool_in(Disk(tmp_path))
    mine = {"batch_id": "batch-mine", "samples": [{"sent_us": 5}]}
    with ThreadPoolExecutor(3) as pool:
        being_written = pool.submit(spool.accept, "r", "d-other", batch(0), network=None)
        assert hangs.wait(PATIENCE_S)
        deletion = pool.submit(spool.forget, "d-mine", ServerUs(10))
        too_early, _waits = wait([deletion], timeout=0.1)
        waiting = pool.submit(spool.accept, "r", "d-mine", mine, network=None)
        wait([waiting], timeout=0.1)
        goes_on.set()
        being_written.result()
        deletion.result()
        found = spooled(tmp_path)
        waiting.result()
    behind = spool.accept("r", "d-mine", {**mine, "batch_id": "batch-behind"}, network=None)

    assert not too_early
    assert behind == []
    assert "d-other" in found
    assert spooled(tmp_path) == found
