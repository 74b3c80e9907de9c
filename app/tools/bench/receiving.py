"""Reading from many connections: with one io_uring call per batch (server/fanout/ring.py), or else singly.

Each single read is a system call plus Python's overhead, a fifth of its cost. A swarm that is nearly as busy as the
server it measures adds its own queue to every delay. So each read has two stamps: when the kernel received its last
byte, and when it was read.
"""

from __future__ import annotations

import errno
from array import array
from collections.abc import Sequence
from operator import attrgetter

from app import clock
from app.core import kernel_stamps
from app.server.fanout.ring import BATCH_MAX, RECEIVE_MESSAGE, Ring
from app.tools.bench.connection import Connection
from app.tools.bench.messages import Messages

READ_BYTES = 8_192
"""Size of one read: more than a merged write of ours."""

READ_BATCH = BATCH_MAX
"""Connections per call. They share the stamp of reading, which is some 0.15 ms late for the first of them. With a
quarter of this number, the swarm's core was 6 % busier during a burst, and more data was still unread when the next
arrived."""

_fd = attrgetter("fd")

Read = bytes | None
"""`None`: there was nothing to read. Empty: the connection has ended."""

ReadBatch = tuple[list[Read], list[int], list[int]]
"""Data of each connection, its time of arrival, and its time of reading (`clock.monotonic_us`)."""


class Receiver:
    """Reads a swarm's connections."""

    def __init__(self) -> None:
        self.begin()
        try:
            self._messages = Messages(READ_BYTES)
            self._ring: Ring | None = Ring(RECEIVE_MESSAGE)
        except OSError:
            self._ring = None
            return
        self._ring.set_buffers(self._messages.addresses, array("I", [1]) * BATCH_MAX)
        self._begins = [place % BATCH_MAX * READ_BYTES for place in range(2 * BATCH_MAX)]
        """Position of each place's bytes; the list has two rounds, so that slices may wrap around."""
        self._expected = 0

    def begin(self) -> None:
        """Start a window."""
        self.unstamped = 0
        """Reads with data but without a kernel stamp; their time of reading is used instead."""
        self._to_monotonic_us = round(clock.kernel_offset_us())

    def clock_step_us(self) -> int:
        """Return how far the clock of the kernel's stamps was set since the window began."""
        return abs(round(clock.kernel_offset_us()) - self._to_monotonic_us)

    def read(self, connections: Sequence[Connection]) -> ReadBatch:
        """Read from each of the connections, `READ_BATCH` at most."""
        if self._ring is None:
            return self._one_by_one(connections)
        messages = self._messages
        messages.forget()
        counts = self._ring.prepare_and_submit(array("i", map(_fd, connections)), self._expected)
        read_us = clock.monotonic_us()
        first, held = self._ring.first, messages.data
        if counts is None:  # The usual case: all reads have the same length.
            size, count = self._expected, len(connections)
            reads: list[Read] = [held[at : at + size] for at in self._begins[first : first + count]]
        else:
            count = len(counts)
            reads = [
                held[at : at + size] if size > 0 else None if size == -errno.EAGAIN else b""
                for at, size in zip(self._begins[first : first + count], counts, strict=True)
            ]
            self._expected = max(0, counts[0]) if counts else 0
        to_us = self._to_monotonic_us
        seconds, nanoseconds = messages.stamps(first, count)
        if seconds and seconds.count(seconds[0]) == count:
            base_us = seconds[0] * 1_000_000 + to_us
            arrivals_us = [base_us + nanosecond // 1000 for nanosecond in nanoseconds]
        else:
            arrivals_us = [
                second * 1_000_000 + nanosecond // 1000 + to_us
                for second, nanosecond in zip(seconds, nanoseconds, strict=True)
            ]
        if 0 in seconds:
            for index, (second, read) in enumerate(zip(seconds, reads, strict=True)):
                if not second:
                    self.unstamped += bool(read)
                    arrivals_us[index] = read_us
        return reads, arrivals_us, [read_us] * len(reads)

    def _one_by_one(self, connections: Sequence[Connection]) -> ReadBatch:
        reads: list[Read] = []
        arrivals_us: list[int] = []
        reads_us: list[int] = []
        for each in connections:
            read, told_ns = _read(each)
            read_us = clock.monotonic_us()
            self.unstamped += bool(read) and told_ns is None
            reads.append(read)
            reads_us.append(read_us)
            arrivals_us.append(read_us if told_ns is None else told_ns // 1000 + self._to_monotonic_us)
        return reads, arrivals_us, reads_us


def _read(connection: Connection) -> tuple[Read, int | None]:
    """Read once. Returns the data with the kernel's stamp, if it has one."""
    try:
        data, ancillary, _, _ = connection.sock.recvmsg(READ_BYTES, kernel_stamps.ROOM_BYTES)
    except BlockingIOError:
        return None, None
    except OSError:
        return b"", None
    return data, kernel_stamps.stamp_ns(ancillary)
