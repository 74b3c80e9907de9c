"""The members of a channel in writing order, and their positions in its stream as runs of equal cursors.

    connections:  | 0 ... 311 | 312 ... 999 |
    runs:         ^ at 5,120  ^ at 4,810          a publish during a round splits a run

Nearly all members stand at one position or two. Writing to a thousand sockets evicts the interpreter's data from the
CPU caches, and reading and updating as many objects took a fortieth of the time that the writes take. So the position
is stored once per run, and written back into the connections when one of them is asked for it
(`DetachedConnection.cursor`).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from itertools import groupby
from operator import attrgetter

from app.server.fanout.connection import DetachedConnection

_stored_cursor = attrgetter("stored_cursor")


class CursorRuns:
    """The cursors of an immutable list of connections, run-length encoded. An index is valid as long as the object."""

    __slots__ = ("_cursors", "_ends", "connections", "fds")

    def __init__(self, connections: Iterable[DetachedConnection]) -> None:
        self.connections = list(connections)
        self.fds = array("i", [each.fd for each in self.connections])
        self._ends: list[int] = []
        """End index (exclusive) of each run. Empty: each connection holds its own cursor."""
        self._cursors: list[int] = []
        """Cursor of each run."""

    def run_at(self, at: int) -> tuple[int, int]:
        """Return the cursor of the connection at index `at`, and the end index of its run."""
        if not self._ends:
            self._look()
        for end, cursor in zip(self._ends, self._cursors, strict=True):
            if at < end:
                return cursor, end
        raise IndexError(at)

    def move(self, begin: int, end: int, cursor: int) -> None:
        """Set the cursor of the connections from `begin` to `end` (exclusive)."""
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
        """Write the cursors back into the connections."""
        start = 0
        for end, cursor in zip(self._ends, self._cursors, strict=True):
            for connection in self.connections[start:end]:
                connection.stored_cursor = cursor
            start = end
        self._ends, self._cursors = [], []

    def _look(self) -> None:
        end = 0
        for cursor, alike in groupby(map(_stored_cursor, self.connections)):
            end += len(list(alike))
            self._ends.append(end)
            self._cursors.append(cursor)


def _add(ends: list[int], cursors: list[int], end: int, cursor: int) -> None:
    """Append a run, or extend the last one if it has the same cursor."""
    if cursors and cursors[-1] == cursor:
        ends[-1] = end
    else:
        ends.append(end)
        cursors.append(cursor)
