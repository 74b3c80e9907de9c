"""When the kernel took what, for whom: the instrument of a trial, preallocated so that noting it costs little.

One row for each accepted write: connection, position in the stream behind it, time. What was merged into one write
has one row, and a notification's time is that of the first row of its connection that lies at or behind its end.
"""

from __future__ import annotations

from array import array

from app import clock


class Recording:
    """Rows of three integers. Full means full: what comes then is counted, not kept."""

    __slots__ = ("_capacity", "count", "cursors", "dropped_count", "times_us", "writers")

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self.writers = array("q", bytes(8 * capacity))
        """`(capacity,)` descriptor of the connection that was written to."""
        self.cursors = array("q", bytes(8 * capacity))
        """`(capacity,)` its position in the stream behind the write, in bytes."""
        self.times_us = array("q", bytes(8 * capacity))
        """`(capacity,)` when the kernel had taken it (server time base)."""
        self.count = 0
        """Rows in use."""
        self.dropped_count = 0
        """Rows that found no room."""

    def note(self, outlet: object, cursor: int) -> None:
        """The kernel has taken everything up to `cursor` for `outlet`."""
        row = self.count
        if row == self._capacity:
            self.dropped_count += 1
            return
        self.writers[row] = outlet.fd  # type: ignore[attr-defined]
        self.cursors[row] = cursor
        self.times_us[row] = clock.now_us()
        self.count = row + 1
