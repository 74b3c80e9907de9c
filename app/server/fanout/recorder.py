"""When the kernel took what, for whom: the instrument of a trial, preallocated so that noting it costs little.

    rows    one for each write: connection, position in its stream behind the write, time
    marks   one for each notification and audience: where in the stream it ends

What was merged into one write has one row, and a notification's time is that of its connection's first row that lies at
or behind its end. The time is taken right before the `send`, or before the call that sends to several (as many as
`sending.STAMPED_LOT`): on loopback the peer has the bytes before it returns.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from app import clock
from app.server.fanout.connection import DetachedConnection, JoinedChannel

ROWS_PER_DELIVERY = 1.25
"""One is the rule; a write that the kernel took half of has two."""

ROWS_SPARE = 16
"""For each connection: heartbeats and pings, which have rows as well."""

LATECOMERS_MAX = 64
"""Connections that come while it is recorded, beyond as many as there were."""


@dataclass(frozen=True, slots=True)
class Reader:
    """A connection that was there at the beginning or came later."""

    audience: JoinedChannel
    cursor: int
    """Where it stood then: what ends at or before it is not its."""
    peer: tuple[str, int]
    """Address and port; no address and port 0 where there are none (a Unix socket)."""


class Recorder:
    """Rows and marks of one trial. Full means full: what comes then is counted, not kept."""

    __slots__ = (
        *("_connections_max", "_cursors", "_marks", "_notifications", "_outlets", "_times_ns"),
        *("count", "dropped_count", "readers"),
    )

    def __init__(self, *, notifications: int, connections: int) -> None:
        self._notifications = notifications
        self._connections_max = 2 * connections + LATECOMERS_MAX
        capacity = round(connections * (notifications * ROWS_PER_DELIVERY + ROWS_SPARE))
        self._outlets: list[DetachedConnection | None] = [None] * capacity
        """References, not descriptors: a descriptor may have another owner a moment later."""
        self._cursors = array("q", bytes(8 * capacity))
        self._times_ns = array("q", bytes(8 * capacity))
        """By the monotonic clock."""
        self._marks: dict[JoinedChannel, _Marks] = {}
        self.readers: dict[DetachedConnection, Reader] = {}
        self.count = 0
        """Rows in use."""
        self.dropped_count = 0
        """Rows and connections that found no room."""

    def note(self, outlet: DetachedConnection, cursor: int, handed_ns: int) -> None:
        """A write that began at `handed_ns` has brought `outlet` to `cursor` of its stream. The hot path."""
        row = self.count
        try:
            self._outlets[row] = outlet
        except IndexError:
            self.dropped_count += 1
            return
        self._cursors[row] = cursor
        self._times_ns[row] = handed_ns
        self.count = row + 1

    def mark(self, audience: JoinedChannel, offset: int) -> None:
        """The notification with this offset ends where the stream does now."""
        marks = self._marks.get(audience)
        if marks is not None and marks.count < self._notifications:
            marks.offsets[marks.count] = offset
            marks.ends[marks.count] = audience.stream.end
            marks.count += 1

    def joined(self, audience: JoinedChannel, outlet: DetachedConnection) -> None:
        """From here on `outlet` reads what `audience` gets."""
        if len(self.readers) >= self._connections_max:
            self.dropped_count += 1
            return
        if audience not in self._marks:
            self._marks[audience] = _Marks(self._notifications)
        self.readers[outlet] = Reader(audience, outlet.cursor, _peer(outlet))

    def accepted(self) -> Iterator[tuple[DetachedConnection, list[tuple[int, int]]]]:
        """For each reader `(offset, when its last byte was handed over)` of what it was sent, in order; server time."""
        rows: dict[DetachedConnection, list[int]] = {outlet: [] for outlet in self.readers}
        for row in range(self.count):
            outlet = self._outlets[row]
            if outlet in rows:
                rows[outlet].append(row)
        for outlet, own in rows.items():
            yield outlet, list(self._accepted_by(self.readers[outlet], own))

    def _accepted_by(self, reader: Reader, rows: list[int]) -> Iterator[tuple[int, int]]:
        marks = self._marks[reader.audience]
        place = bisect_right(marks.ends, reader.cursor, 0, marks.count)
        for row in rows:
            while place < marks.count and marks.ends[place] <= self._cursors[row]:
                yield marks.offsets[place], clock.stamp_us(self._times_ns[row])
                place += 1


class _Marks:
    """Where the notifications of an audience end, in order."""

    __slots__ = ("count", "ends", "offsets")

    def __init__(self, capacity: int) -> None:
        self.offsets = array("q", bytes(8 * capacity))
        self.ends = array("q", bytes(8 * capacity))
        self.count = 0


def _peer(outlet: DetachedConnection) -> tuple[str, int]:
    try:
        name = outlet.sock.getpeername() if outlet.sock is not None else ""
    except OSError:  # It left in this moment.
        name = ""
    return (str(name[0]), int(name[1])) if isinstance(name, tuple) else ("", 0)
