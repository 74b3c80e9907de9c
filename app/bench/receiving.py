"""How a swarm reads from many connections: by one call of the kernel where it has io_uring (serving/ring.py), else one by one.

A read by itself is a system call and Python's way into it, a fifth of what it costs; and a swarm that is nearly as busy as the
server that it measures adds its own queue to every delay.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
from array import array
from collections.abc import Sequence

from app import clock
from app.bench.connection import Connection
from app.serving.ring import LOT_MAX, RECEIVE, Ring

READ_BYTES = 8_192
"""Of one read: more than a merged write of ours."""

LOT = 16
"""Connections by one call: they share a stamp, for the first of them some 40 us late."""

Read = bytes | None
"""`None`: there was nothing. Empty: the connection has ended."""


class Receiver:
    """Where the bytes go."""

    def __init__(self) -> None:
        try:
            self._ring: Ring | None = Ring(RECEIVE)
        except OSError:
            self._ring = None
            return
        self._bytes = mmap.mmap(-1, LOT_MAX * READ_BYTES)
        begin = ctypes.addressof(ctypes.c_char.from_buffer(self._bytes))
        places = range(begin, begin + LOT_MAX * READ_BYTES, READ_BYTES)
        self._ring.point(array("Q", places), array("I", [READ_BYTES]) * LOT_MAX)
        self._expected = 0

    def read(self, connections: Sequence[Connection]) -> tuple[list[Read], list[int]]:
        """What each has, `LOT` at most, and when it had been read (`clock.monotonic_us`)."""
        if self._ring is None:
            reads, stamps_us = [], []
            for each in connections:
                reads.append(_read(each))
                stamps_us.append(clock.monotonic_us())
            return reads, stamps_us
        counts = self._ring.do(array("i", [each.fd for each in connections]), self._expected)
        if counts is None:
            counts = [self._expected] * len(connections)
        stamps_us = [clock.monotonic_us()] * len(counts)
        self._expected = counts[0] if counts else 0
        first, held = self._ring.first, self._bytes
        reads = []
        for place, count in enumerate(counts, first):
            if count > 0:
                at = place % LOT_MAX * READ_BYTES
                reads.append(held[at : at + count])
            else:
                reads.append(None if count == -errno.EAGAIN else b"")
        return reads, stamps_us


def _read(connection: Connection) -> Read:
    try:
        return connection.sock.recv(READ_BYTES)
    except BlockingIOError:
        return None
    except OSError:
        return b""
