"""Folders and files that Siar did not make stay, whatever their name; a sweep says what it removed."""

from __future__ import annotations

import os
import shutil
import sqlite3
from pathlib import Path

import pytest

from app import clock
from app.cli.prune import prune
from app.core.errors import SiarError, StoreError
from app.store.archive import retention, self_tests, sweep_process
from app.store.archive.forget import forget_device
from app.store.archive.trash import KEPT_DAYS, TRASH, Trash
from app.store.run_folder import MARK_FILE, is_run, make_folder
from app.store.store import RunHead, Store
from tests.support.stored_run import DEVICES, store_run
from tests.unit.support_run import a_plan

RUN = "2026-01-01T00-00-00-0001"
LIVE = "live-2026-01-01T00-00-00-0002"
DAYS = 35


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    """A folder of runs in which somebody keeps other things, among them some that look like runs."""
    for place in (tmp_path, tmp_path / TRASH, tmp_path / self_tests.FOLDER):
        for name in ("Documents", "live-x", LIVE, "2026-01-01T00-00-00-0009"):
            folder = place / name
            folder.mkdir(parents=True)
            (folder / "letter.txt").write_text("dear")
            (folder / "spool.jsonl").write_text(f'{{"device":"{DEVICES[0]}"}}\n')
        with sqlite3.connect(place / "live-x" / "run.sqlite") as other:
            other.execute("PRAGMA application_id = 7")
            other.execute("CREATE TABLE run (id)")
        (place / f"{DEVICES[0]}.json").write_text('{"mine": true}')
        (place / "live-file").write_text("no folder")
        (place / "live-linked").symlink_to(place / "Documents")
        (place / ".import-old").mkdir()
    (tmp_path / "2026-01-01T00-00-00-0009" / "result.json").write_text("{}")
    for path in tmp_path.rglob("*"):
        os.utime(path, (1, 1), follow_symlinks=False)
    return tmp_path


def content(folder: Path) -> dict[str, bytes | None]:
    """Every path below, and what is in it."""
    return {
        str(each.relative_to(folder)): each.read_bytes() if each.is_file() else None
        for each in folder.rglob("*")
    }


def test_days_of_sweeps_and_every_deletion_leave_what_is_foreign(
    foreign: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = content(foreign)
    anchor_us, timebase = clock.anchor_us(), clock.timebase()
    try:
        for day in range(DAYS):
            clock.fix(anchor_us=anchor_us + day * 86_400_000_000, timebase="ahead")
            assert retention.sweep(foreign, days=1) == retention.Swept()
            self_tests.all_of(foreign, days=1)
    finally:
        clock.fix(anchor_us=anchor_us, timebase=timebase)
    prune(foreign, older_than=0, keep=None, retention_days=1, wanted=True)
    prune(foreign, older_than=None, keep="0", retention_days=1, wanted=True)
    for name in os.listdir(foreign):
        with pytest.raises(SiarError):
            Trash(foreign).add(name)
        with pytest.raises(SiarError):
            Trash(foreign).restore(name)
    for device in DEVICES:
        assert forget_device(foreign, device).runs == []

    assert content(foreign) == before
    assert "in the trash\n" not in capsys.readouterr().out


def test_a_run_moved_into_the_trash_by_hand_is_not_purged(tmp_path: Path) -> None:
    folder = store_run(tmp_path / TRASH, RUN)
    os.utime(folder, (1, 1))

    assert Trash(tmp_path).purge() == []

    Trash(tmp_path).restore(RUN)
    assert is_run(tmp_path / RUN)


def test_a_trash_that_is_a_link_is_neither_filled_nor_emptied(tmp_path: Path) -> None:
    runs, elsewhere = tmp_path / "runs", tmp_path / "elsewhere"
    store_run(elsewhere, "old")
    Trash(elsewhere).add("old")
    (elsewhere / TRASH).rename(tmp_path / "target")
    os.utime(tmp_path / "target" / "old", (1, 1))
    store_run(runs, RUN)
    (runs / TRASH).symlink_to(tmp_path / "target")
    before = content(tmp_path / "target")

    assert Trash(runs).purge() == []
    with pytest.raises(StoreError):
        Trash(runs).add(RUN)
    with pytest.raises(SiarError):
        Trash(runs).restore("old")

    assert content(tmp_path / "target") == before
    assert (runs / RUN / "result.json").exists()


def test_a_run_is_ours_from_its_first_post_to_a_writer_that_was_killed(tmp_path: Path) -> None:
    make_folder(tmp_path / LIVE)
    with Store.create(tmp_path / RUN, RunHead(RUN, "2026-01-01T00:00:00Z", a_plan(), {}, simulated=True)):
        shutil.copytree(tmp_path / RUN, tmp_path / "killed")
    (tmp_path / "theirs").mkdir()
    make_folder(tmp_path / "theirs")

    assert (tmp_path / "killed" / "run.sqlite-wal").stat().st_size
    assert [is_run(tmp_path / name) for name in (LIVE, RUN, "killed", "theirs")] == [True, True, True, False]
    assert not (tmp_path / "killed" / MARK_FILE).exists()


def test_a_sweep_says_what_it_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make_folder(tmp_path / LIVE)
    for path in (tmp_path / LIVE / MARK_FILE, tmp_path / LIVE, store_run(tmp_path, RUN)):
        os.utime(path, (1, 1))
    Trash(tmp_path).add(RUN)
    os.utime(tmp_path / TRASH / RUN, (1, clock.now_us() / 1e6 - (KEPT_DAYS + 1) * 86_400))
    monkeypatch.setattr("sys.argv", ["sweep", "--runs-dir", str(tmp_path), "--days", "30"])

    assert sweep_process.main() == 0

    said = capsys.readouterr().err
    assert f"Deleted for good after their week in the trash: {RUN}." in said
    assert f"(siar runs restore RUN brings one back): {LIVE}." in said
