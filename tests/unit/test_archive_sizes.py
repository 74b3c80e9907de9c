"""What runs take on the disk, and which go when they may take only so much."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from app.core.errors import Malformed
from app.store.archive.run_index import LISTED_MAX, RunIndex
from app.store.archive.sizes import (
    StoredRun,
    bytes_from_text,
    folder_bytes,
    runs_to_remove,
    size_text,
    stored_runs,
)
from app.store.schema import APPLICATION_ID

OLDEST_FIRST = [StoredRun("c", 300.0, 5), StoredRun("a", 200.0, 3), StoredRun("b", 100.0, 2)]

HEAD = b"SQLite format 3\0".ljust(68) + APPLICATION_ID.to_bytes(4, "big")
"""By it a run's database is told."""


@pytest.mark.parametrize(
    ("bytes_max", "going"),
    [(10, []), (9, ["c"]), (5, ["c"]), (4, ["c", "a"]), (1, ["c", "a", "b"]), (0, ["c", "a", "b"])],
)
def test_no_more_of_the_oldest_go_than_have_to(bytes_max: int, going: list[str]) -> None:
    assert [run.id for run in runs_to_remove(OLDEST_FIRST, bytes_max=bytes_max)] == going


def test_a_run_that_is_written_now_stays_and_the_next_one_goes_in_its_place() -> None:
    assert [run.id for run in runs_to_remove(OLDEST_FIRST, bytes_max=7, keep="c")] == ["a"]


def test_runs_come_oldest_first_with_the_bytes_of_all_their_files_and_of_nothing_else(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    for name, days in (("young", 1), ("old", 9)):
        (runs / name / "results").mkdir(parents=True)
        (runs / name / "run.sqlite").write_bytes(HEAD.ljust(1000, b"x"))
        (runs / name / "results" / "a.json").write_bytes(b"y" * 24)
        (runs / name / "elsewhere").symlink_to("/")
        for path in (*(runs / name).glob("r*"), runs / name):
            os.utime(path, (0, path.stat().st_mtime - days * 86_400), follow_symlinks=False)
        os.utime(runs / name / "elsewhere", (0, 0), follow_symlinks=False)
    (runs / ".trash" / "gone").mkdir(parents=True)
    (runs / "linked").symlink_to(runs / "old")

    assert [(run.id, run.size_bytes) for run in stored_runs(runs)] == [("old", 1024), ("young", 1024)]
    assert folder_bytes(runs / "old") == 1024
    assert stored_runs(tmp_path / "nothing there") == []


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        ("0", 0),
        ("512", 512),
        ("500MB", 500_000_000),
        ("1.5 GiB", 1_610_612_736),
        ("2g", 2_000_000_000),
        ("7kB", 7_000),
    ],
)
def test_a_size_is_read_as_people_write_it(text: str, size_bytes: int) -> None:
    assert bytes_from_text(text) == size_bytes


@pytest.mark.parametrize("text", ["", "GB", "-1GB", "1e9", "2 GBs", "nan", "1,5GB", "9" * 16])
def test_what_is_no_size_is_refused_in_a_sentence(text: str) -> None:
    with pytest.raises(Malformed, match="2GB"):
        bytes_from_text(text)


def test_a_size_is_said_in_the_unit_that_fits() -> None:
    assert [size_text(n) for n in (0, 999, 1000, 34_160_000, 2_000_000_000)] == [
        *("0 B", "999 B", "1.0 kB"),
        *("34.2 MB", "2.0 GB"),
    ]


def test_more_runs_than_are_listed_are_counted(tmp_path: Path) -> None:
    for number in range(LISTED_MAX + 3):
        (tmp_path / f"run-{number:04}").mkdir()

    shelf = RunIndex(tmp_path)

    assert (len(shelf.newest()), shelf.count()) == (LISTED_MAX, LISTED_MAX + 3)
