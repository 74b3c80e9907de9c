"""Reading a run of before without a lock, while somebody deletes what is its own."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path

import pytest

from app.core.errors import Conflict
from app.store import database


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database that nobody has open: no log lies beside it."""
    path = tmp_path / "run.sqlite"
    with contextlib.closing(database.connect(path, write=True)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("CREATE TABLE place (number)")
        writer.execute("INSERT INTO place VALUES (0)")
    assert not database.wal_of(path).exists()
    return path


class Reader:
    """Reads, while others write the first times."""

    def __init__(self, path: Path, *, disturbed: int) -> None:
        self.path, self.disturbed, self.count = path, disturbed, 0

    def __call__(self) -> int:
        with contextlib.closing(database.connect(self.path, write=False)) as reader:
            (found,) = reader.execute("SELECT number FROM place").fetchone()
            self.count += 1
            if self.count <= self.disturbed:
                self._write()
            return int(found)

    def _write(self) -> None:
        before = self.path.stat()
        with contextlib.closing(database.connect(self.path, write=True)) as writer:
            writer.execute("UPDATE place SET number = number + 1")
        os.utime(self.path, ns=(before.st_atime_ns, before.st_mtime_ns))  # As a deletion does.


@pytest.mark.parametrize("disturbed", [0, 1, 2])
def test_what_was_read_while_somebody_wrote_is_read_again(path: Path, disturbed: int) -> None:
    reader = Reader(path, disturbed=disturbed)

    assert database.read_consistently(path, reader) == disturbed
    assert reader.count == disturbed + 1


def test_what_is_written_without_end_is_not_read(path: Path) -> None:
    with pytest.raises(Conflict, match="being written"):
        database.read_consistently(path, Reader(path, disturbed=9))


def test_a_damage_that_nobody_made_meanwhile_is_told(path: Path) -> None:
    path.write_bytes(b"no database")

    with pytest.raises(sqlite3.DatabaseError):
        database.read_consistently(path, Reader(path, disturbed=0))


def test_a_run_that_is_moved_into_the_trash_meanwhile_is_read_to_its_end(path: Path) -> None:
    reader = Reader(path, disturbed=0)

    def read() -> int:
        found = reader()
        path.rename(path.with_name("gone"))
        return found

    assert database.read_consistently(path, read) == 0


def test_reading_leaves_nothing_beside_the_file(path: Path) -> None:
    database.read_consistently(path, Reader(path, disturbed=0))

    assert [each.name for each in path.parent.iterdir()] == ["run.sqlite"]


def test_a_file_has_a_writer_for_as_long_as_one_has_it_open(path: Path) -> None:
    assert not database.has_writer(path)
    with contextlib.closing(database.connect(path, write=True)) as writer:
        writer.execute("UPDATE place SET number = 7")

        assert database.has_writer(path)

    assert not database.has_writer(path)
