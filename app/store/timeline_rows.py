"""Between a trial's course and its tables: `course`, `cpu_second`, `opening`, `upload`."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import astuple
from typing import Any

from app.core.timeline import CpuSecond, Opening, TrialTimeline, Upload
from app.store import schema

Row = tuple[Any, ...]


def values(trial: int, course: TrialTimeline) -> Iterator[tuple[str, Iterable[Row]]]:
    """Tables and the rows that they get; `course` first, to which the others refer."""
    yield "course", [(trial, course.uploads_known)]
    yield "cpu_second", [(trial, *astuple(each)) for each in course.cpu_seconds]
    yield "opening", [(trial, *astuple(each)) for each in course.openings]
    yield "upload", [(trial, *astuple(each)) for each in course.uploads]


def read(database: sqlite3.Connection, trial: int) -> TrialTimeline | None:
    """What `values` wrote; `None` for a trial of before it was recorded."""
    if database.execute("PRAGMA user_version").fetchone()[0] < schema.COURSE_SINCE:
        return None
    head = database.execute("SELECT uploads_known FROM course WHERE trial = ?", (trial,)).fetchone()
    if head is None:
        return None

    def rows(table: str) -> list[Row]:
        found = database.execute(f"SELECT * FROM {table} WHERE trial = ? ORDER BY rowid", (trial,))
        return [tuple(row)[1:] for row in found]

    return TrialTimeline(
        cpu_seconds=tuple(CpuSecond(*row) for row in rows("cpu_second")),
        openings=tuple(Opening(*row) for row in rows("opening")),
        uploads=tuple(Upload(*row) for row in rows("upload")),
        uploads_known=bool(head[0]),
    )
