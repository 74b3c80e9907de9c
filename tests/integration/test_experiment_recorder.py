"""The recorder of a live run: each posted batch once, whatever is read twice or torn."""

from __future__ import annotations

import functools
import json
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.core.errors import StoreError
from app.lab.run import processes, recorder
from app.store import spool
from app.store.store import Store
from tests.support.followers import wait_for
from tests.support.patience import PATIENCE_S


def line(batch_id: str, *, device: str = "phone", samples: int = 1) -> bytes:
    sample = {
        "id": "e.1",
        "transport": "sse",
        "due_us": 1.0,
        "state": "ok",
        "outcome": "on_time",
        "visible": True,
    }
    batch = {"batch_id": batch_id, "run": "r", "trial": 0, "timebase": "ab", "samples": [sample] * samples}
    return json.dumps({"received_us": 5, "device": device, "batch": batch}).encode() + b"\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "live-2026"
    path.mkdir()
    return path


@pytest.fixture
def store(folder: Path) -> Iterator[Store]:
    with recorder.open_live(folder) as opened:
        yield opened


def test_a_torn_last_line_is_waited_for(folder: Path, store: Store) -> None:
    path = folder / spool.FILE_NAME
    torn = line("b2")
    path.write_bytes(line("b1") + torn[:20])

    assert spool.ingest(store) == 1
    assert spool.ingest(store) == 0
    with path.open("ab") as file:
        file.write(torn[20:] + line("b3"))
    assert spool.ingest(store) == 2

    assert [sample["batch_id"] for sample in store.samples()] == ["b1", "b2", "b3"]


def test_what_is_read_twice_counts_once(folder: Path, store: Store) -> None:
    (folder / spool.FILE_NAME).write_bytes(line("b1", samples=3) + line("b1") + line("b1", device="tablet"))

    assert spool.ingest(store) == 2
    assert len(store.samples()) == 4


def test_a_line_that_is_no_batch_is_passed_by(folder: Path, store: Store) -> None:
    (folder / spool.FILE_NAME).write_bytes(b"{}\nnull\n\xff\n[1]\n" + line("b1"))

    assert spool.ingest(store) == 1


def test_no_spool_is_no_batch(store: Store) -> None:
    assert spool.ingest(store) == 0


def test_a_store_is_taken_up_again_where_it_was_left(folder: Path) -> None:
    path = folder / spool.FILE_NAME
    path.write_bytes(line("b1"))
    with recorder.open_live(folder) as first:
        spool.ingest(first)
    with path.open("ab") as file:
        file.write(line("b2"))

    with recorder.open_live(folder) as second:
        assert spool.ingest(second) == 1
        assert len(second.samples()) == 2
        assert second.load().simulated is False


@pytest.mark.parametrize("end", ["end of input", "SIGTERM"])
def test_the_process_takes_a_last_look_before_it_ends(folder: Path, end: str) -> None:
    process = subprocess.Popen(
        processes.python_module("app.lab.run.recorder", "--folder", str(folder)),
        stdin=subprocess.PIPE,
        env=processes.environment(),
    )
    with process:
        try:
            (folder / spool.FILE_NAME).write_bytes(line("b1"))
            wait_for(lambda: sample_count(folder) >= 1, lambda: "the recorder took nothing in")
            with (folder / spool.FILE_NAME).open("ab") as file:
                file.write(line("b2"))
            if end == "SIGTERM":
                process.send_signal(signal.SIGTERM)
            else:
                assert process.stdin is not None
                process.stdin.close()
            assert process.wait(PATIENCE_S) == 0
        finally:
            process.kill()

    with Store.open(folder) as store:
        assert len(store.samples()) == 2


def test_a_store_whose_maker_died_before_its_first_word_is_made_anew(folder: Path) -> None:
    (folder / "run.sqlite").touch()
    (folder / spool.FILE_NAME).write_bytes(line("b1"))

    with recorder.open_live(folder) as store:
        assert spool.ingest(store) == 1


def test_a_foreign_database_is_left_alone_and_waited_for(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = folder / "run.sqlite"
    path.write_bytes(b"This is no database, but somebody's file." * 100)
    (folder / spool.FILE_NAME).write_bytes(line("b1"))
    intake = recorder.Intake(folder)

    assert [intake.ingest(), intake.ingest(), intake.ingest()] == [False, False, False]
    assert path.read_bytes().startswith(b"This is no database")
    path.unlink()
    assert intake.ingest()
    intake.close()

    said = capsys.readouterr().err.splitlines()
    assert len(said) == 2, "the trouble once, and its end"
    with Store.open(folder) as store:
        assert len(store.samples()) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="prlimit, which stands in for a full disk, is Linux's")
@pytest.mark.parametrize("bytes_max", [0, 2000, 6000], ids=["no byte", "no page", "no table"])
def test_a_full_disk_is_outlived(folder: Path, bytes_max: int) -> None:
    (folder / spool.FILE_NAME).write_bytes(line("b1"))
    process = subprocess.Popen(
        processes.python_module("app.lab.run.recorder", "--folder", str(folder)),
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**processes.environment(), "PYTHONDONTWRITEBYTECODE": "1"},
        # Before its first word: a limit put on it when it runs may come too late. A system call, no lock, no import.
        preexec_fn=functools.partial(  # noqa: PLW1509 - as it says
            resource.setrlimit, resource.RLIMIT_FSIZE, (bytes_max, resource.RLIM_INFINITY)
        ),
    )
    with process:
        try:
            assert process.stderr is not None
            assert b"trying again" in process.stderr.readline()
            resource.prlimit(
                process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
            )
            assert b"written again" in process.stderr.readline()
            assert process.stdin is not None
            process.stdin.close()
            assert process.wait(PATIENCE_S) == 0
        finally:
            process.kill()

    with Store.open(folder) as store:
        assert [sample["batch_id"] for sample in store.samples()] == ["b1"]


def sample_count(folder: Path) -> int:
    """How many the recorder has taken in."""
    if not (folder / "run.sqlite").exists() or not (folder / "run.sqlite").stat().st_size:
        return 0
    try:
        with Store.open(folder) as store:
            return len(store.samples())
    except StoreError:
        return 0  # The recorder is making its tables at this moment.
