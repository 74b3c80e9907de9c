"""Those who read one stream, side by side, and where they stand in it: mostly all of them at one place or two.

    outlets:  | 0 ... 311 | 312 ... 999 |
    runs:     ^ at 5,120  ^ at 4,810          who publishes amid a round parts it

What the kernel does for a thousand connections costs the interpreter its place in the processor's caches. To look at as many
objects, and to change each, took a fortieth of what the writing takes; so where they stand is written down once for a run, and
each of them is told when it is asked (`DetachedConnection.cursor`).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from itertools import groupby
from operator import attrgetter

from app.server.fanout.connection import DetachedConnection

_stands_at = attrgetter("stands_at")


class CursorRuns:
    """As rounds of writing go through them. Who has a place here keeps it as long as the row is used."""

    __slots__ = ("_cursors", "_ends", "fds", "outlets")

    def __init__(self, outlets: Iterable[DetachedConnection]) -> None:
        self.outlets = list(outlets)
        self.fds = array("i", [each.fd for each in self.outlets])
        self._ends: list[int] = []
        """Behind the last one of each run; empty: each knows by itself where it stands."""
        self._cursors: list[int] = []
        """Of each run."""

    def run_at(self, at: int) -> tuple[int, int]:
        """Where the one at `at` stands, and up to whom those behind it stand there too."""
        if not self._ends:
            self._look()
        for end, cursor in zip(self._ends, self._cursors, strict=True):
            if at < end:
                return cursor, end
        raise IndexError(at)

    def move(self, begin: int, end: int, cursor: int) -> None:
        """Those from `begin` to before `end` stand at `cursor` now."""
        if not self._ends:
            self._look()
        runs = [*zip(self._ends, self._cursors, strict=True)]
        ends: list[int] = []
        cursors: list[int] = []
        is_in = False
        start = 0
        for run_end, run_cursor in runs:
            if start < begin:
                _add(ends, cursors, min(run_end, begin), run_cursor)
            if not is_in and run_end > begin:
                is_in = True
                _add(ends, cursors, end, cursor)
            if run_end > end:
                _add(ends, cursors, run_end, run_cursor)
            start = run_end
        self._ends, self._cursors = ends, cursors

    def catch_up(self) -> None:
        """Let each know by itself."""
        start = 0
        for end, cursor in zip(self._ends, self._cursors, strict=True):
            for outlet in self.outlets[start:end]:
                outlet.stands_at = cursor
            start = end
        self._ends, self._cursors = [], []

    def _look(self) -> None:
        end = 0
        for cursor, alike in groupby(map(_stands_at, self.outlets)):
            end += len(list(alike))
            self._ends.append(end)
            self._cursors.append(cursor)


def _add(ends: list[int], cursors: list[int], end: int, cursor: int) -> None:
    """One run more, or of the last one more."""
    if cursors and cursors[-1] == cursor:
        ends[-1] = end
    else:
        ends.append(end)
        cursors.append(cursor)
