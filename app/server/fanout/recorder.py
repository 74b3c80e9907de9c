"""The recorder notes when the kernel took which bytes for which connection, in preallocated arrays to keep it cheap.

    rows    one per write: connection, cursor after the write, time
    marks   one per notification and channel: the stream offset at which it ends

A coalesced write has one row. A notification's time is that of its connection's first row whose cursor is at or after
the notification's end. The time is taken right before the `send`, or before the call that sends to several
(`batch_sender.STAMPED_BATCH`): on loopback the peer has the bytes before the call returns.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from app import clock
from app.server.fanout.connection import DetachedConnection, JoinedChannel

ROWS_PER_DELIVERY = 1.25
"""Normally one; a write that the kernel takes in two parts has two rows."""

ROWS_SPARE = 16
"""Additional rows per connection for heartbeats and pings."""

LATECOMERS_MAX = 64
"""Connections that may join during the recording, beyond twice the initial count."""


@dataclass(frozen=True, slots=True)
class Reader:
    """A connection that was there at the beginning or joined later."""

    channel: JoinedChannel
    cursor: int
    """Its cursor at that time: notifications that end at or before it were not for it."""
    peer: tuple[str, int]
    """Address and port; `("", 0)` for a Unix socket."""


class Recorder:
    """Rows and marks of one trial. Capacity is fixed: what does not fit is counted, not kept."""

    __slots__ = (
        *("_connections_max", "_cursors", "_marks", "_notifications", "_connections", "_times_ns"),
        *("count", "dropped_count", "readers"),
    )

    def __init__(self, *, notifications: int, connections: int) -> None:
        self._notifications = notifications
        self._connections_max = 2 * connections + LATECOMERS_MAX
        capacity = round(connections * (notifications * ROWS_PER_DELIVERY + ROWS_SPARE))
        self._connections: list[DetachedConnection | None] = [None] * capacity
        """References, not descriptors: a descriptor may be reused a moment later."""
        self._cursors = array("q", bytes(8 * capacity))
        self._times_ns = array("q", bytes(8 * capacity))
        """Monotonic time."""
        self._marks: dict[JoinedChannel, _Marks] = {}
        self.readers: dict[DetachedConnection, Reader] = {}
        self.count = 0
        """Count of rows in use."""
        self.dropped_count = 0
        """Count of rows and connections that did not fit."""

    def note(self, connection: DetachedConnection, cursor: int, handed_ns: int) -> None:
        """Record a write that began at `handed_ns` and brought `connection` to `cursor`. This is on the hot path."""
        row = self.count
        try:
            self._connections[row] = connection
        except IndexError:
            self.dropped_count += 1
            return
        self._cursors[row] = cursor
        self._times_ns[row] = handed_ns
        self.count = row + 1

    def mark(self, channel: JoinedChannel, offset: int) -> None:
        """Record that the notification with this offset ends at the stream's current end."""
        marks = self._marks.get(channel)
        if marks is not None and marks.count < self._notifications:
            marks.offsets[marks.count] = offset
            marks.ends[marks.count] = channel.stream.end
            marks.count += 1

    def joined(self, channel: JoinedChannel, connection: DetachedConnection) -> None:
        """Record that `connection` reads the channel from its cursor on."""
        if len(self.readers) >= self._connections_max:
            self.dropped_count += 1
            return
        if channel not in self._marks:
            self._marks[channel] = _Marks(self._notifications)
        self.readers[connection] = Reader(channel, connection.cursor, _peer(connection))

    def accepted(self) -> Iterator[tuple[DetachedConnection, list[tuple[int, int]]]]:
        """Yield each reader with its `(offset, time of handing over the last byte)`, in order; server time base."""
        rows: dict[DetachedConnection, list[int]] = {connection: [] for connection in self.readers}
        for row in range(self.count):
            connection = self._connections[row]
            if connection in rows:
                rows[connection].append(row)
        for connection, own in rows.items():
            yield connection, list(self._accepted_by(self.readers[connection], own))

    def _accepted_by(self, reader: Reader, rows: list[int]) -> Iterator[tuple[int, int]]:
        marks = self._marks[reader.channel]
        place = bisect_right(marks.ends, reader.cursor, 0, marks.count)
        for row in rows:
            while place < marks.count and marks.ends[place] <= self._cursors[row]:
                yield marks.offsets[place], clock.stamp_us(self._times_ns[row])
                place += 1


class _Marks:
    """The end offsets of a channel's notifications in its stream, in order."""

    __slots__ = ("count", "ends", "offsets")

    def __init__(self, capacity: int) -> None:
        self.offsets = array("q", bytes(8 * capacity))
        self.ends = array("q", bytes(8 * capacity))
        self.count = 0


def _peer(connection: DetachedConnection) -> tuple[str, int]:
    try:
        name = connection.sock.getpeername() if connection.sock is not None else ""
    except OSError:  # The connection was closed at this moment.
        name = ""
    return (str(name[0]), int(name[1])) if isinstance(name, tuple) else ("", 0)
