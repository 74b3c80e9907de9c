"""The batch sender writes the same bytes to many sockets: by io_uring where available (ring.py), else by `send` calls.

A batch is one system call, or up to `BATCH_MAX` calls of `send`. The caller may stop between two batches. The result is the
number of bytes that each socket took, or its negative error number.
"""

from __future__ import annotations

import ctypes
import errno
import logging
import mmap
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

from app import clock
from app.server.fanout.connection import DetachedConnection
from app.server.fanout.ring import BATCH_MAX, SEND, Ring

logger = logging.getLogger("siar.sending")

BATCHES_PER_PASS = 8
"""Batches of one call of `Sender.send`. They are 512 connections, a publisher's half of a round of a thousand. A separate
call per batch costs some 16 us of Python with cold caches, as much as three sends."""

SENDS_MAX = BATCHES_PER_PASS * BATCH_MAX
"""Most connections of one call."""

BUFFER_BYTES = 131_072
"""Initial size of the buffer for the data; it grows for a longer notification."""

AT_ONCE = "io_uring"
ONE_BY_ONE = "send"

STAMPED_BATCH = 8
"""Connections that share a timestamp where one system call sends to several. The last one's is too early by the time
of seven sends, some 35 us. A timestamp each would need a call each, and the instrument would measure another
server."""


@dataclass(slots=True)
class Pause:
    """A condition that stops the writing to a run of connections."""

    is_due: Callable[[], bool]
    """Checked after every `every` connections."""
    every: int = BATCH_MAX
    """Connections between two checks, `BATCH_MAX` at most."""


class Recipients:
    """An immutable list of connections in the order of writing, and their descriptors for io_uring."""

    __slots__ = ("connections", "fds")

    def __init__(self, connections: Iterable[DetachedConnection]) -> None:
        self.connections = list(connections)
        self.fds = array("i", [each.fd for each in self.connections])


class Sender:
    """Sends by io_uring or one by one; opens the ring at first use, after any fork. Not thread-safe."""

    def __init__(self, *, at_once: bool = False) -> None:
        self._wants_ring = at_once
        self._ring: Ring | None = None
        self._data = b""
        """The current content of the ring's buffer."""
        self._buffer = mmap.mmap(-1, BUFFER_BYTES)
        """The buffer that all entries of the ring point to."""
        self._is_shortfall_logged = False

    @property
    def way(self) -> str:
        """The way of sending, `AT_ONCE` or `ONE_BY_ONE`."""
        return ONE_BY_ONE if self._opened() is None else AT_ONCE

    def send(
        self, recipients: Recipients, begin: int, end: int, data: bytes, pause: Pause | None = None
    ) -> tuple[int, list[int] | None]:
        """Send `data` to the connections from `begin` to `end` (exclusive), until `pause` is due.

        They are open, and `SENDS_MAX` at most. Return to how many it was sent, and how many bytes each of them took
        (`None`: each took everything).
        """
        ring, size, total = self._opened(), len(data), end - begin
        if ring is not None:
            self._fill(ring, recipients.fds[begin:end], data)
        every = BATCH_MAX if pause is None else pause.every
        results: list[int] | None = None
        done = 0
        while done < total:
            count = min(every, total - done)
            if ring is None:
                connections = recipients.connections[begin + done : begin + done + count]
                some = _shortened(_one_by_one(connections, data), data)
            else:
                some = ring.submit(count, size)
                if some is not None and len(some) < count:
                    self._log_shortfall(len(some), count)
                    some += _one_by_one(
                        recipients.connections[begin + done + len(some) : begin + done + count], data
                    )
                    self._fill(ring, recipients.fds[begin + done + count : end], data)
            if some is not None and results is None:
                results = [size] * done
            if results is not None:
                results += [size] * count if some is None else some
            done += count
            if pause is not None and pause.is_due():
                break
        return done, results

    def send_stamped(
        self, recipients: Recipients, begin: int, end: int, data: bytes, pause: Pause | None = None
    ) -> tuple[int, list[int] | None, list[int]]:
        """Do the same, and return the time (`clock.monotonic_ns`) right before each send or the call for several."""
        is_one_by_one = self._opened() is None
        every = BATCH_MAX if is_one_by_one else STAMPED_BATCH
        results, stamps_ns = [], []
        for at in range(begin, end, every):
            count = min(every, end - at)
            if is_one_by_one:
                batch_results, stamps = _one_by_one_stamped(recipients.connections[at : at + count], data)
            else:
                stamps = [clock.monotonic_ns()] * count
                _, taken = self.send(recipients, at, at + count, data)
                batch_results = [len(data)] * count if taken is None else taken
            results += batch_results
            stamps_ns += stamps
            if pause is not None and pause.is_due():
                break
        return len(results), _shortened(results, data), stamps_ns

    def _fill(self, ring: Ring, fds: array[int], data: bytes) -> None:
        size = len(data)
        if data is not self._data:
            if size > len(self._buffer):
                self._buffer = mmap.mmap(-1, size)
                self._set_buffers(ring)
            self._buffer[:size] = data
            self._data = data
        ring.prepare(fds, array("I", [size]) * len(fds))

    def _set_buffers(self, ring: Ring) -> None:
        address = ctypes.addressof(ctypes.c_char.from_buffer(self._buffer))
        ring.set_buffers(array("Q", [address]) * ring.places, array("I", [0]) * ring.places)

    def _log_shortfall(self, taken: int, wanted: int) -> None:
        if not self._is_shortfall_logged:
            self._is_shortfall_logged = True
            logger.warning("io_uring took %d of %d sends; the rest goes one by one.", taken, wanted)

    def _opened(self) -> Ring | None:
        if self._wants_ring:
            self._wants_ring = False
            try:
                self._ring = Ring(SEND, SENDS_MAX)
                self._set_buffers(self._ring)
            except OSError as error:
                logger.info("No io_uring here (%s); every connection has a `send` of its own.", error)
        return self._ring


def _shortened(results: list[int], data: bytes) -> list[int] | None:
    return None if results.count(len(data)) == len(results) else results


def _one_by_one(connections: Sequence[DetachedConnection], data: bytes) -> list[int]:
    results: list[int] = []
    sends = _sends(connections, data)
    while len(results) < len(connections):
        try:  # `extend` keeps the results before a failure, and the iterator continues after the failed connection.
            results.extend(sends)
        except Exception as error:  # noqa: BLE001 - one connection's bug must not end the writing to all others
            results.append(_negative_errno(error))
    return results


def _one_by_one_stamped(
    connections: Sequence[DetachedConnection], data: bytes
) -> tuple[list[int], list[int]]:
    rows: list[tuple[int, int]] = []
    pairs = zip(iter(clock.monotonic_ns, None), _sends(connections, data))  # noqa: B905 - the first one has no end
    while len(rows) < len(connections):
        try:
            rows.extend(pairs)
        except Exception as error:  # noqa: BLE001 - as above
            rows.append((clock.monotonic_ns(), _negative_errno(error)))
    return [taken for _, taken in rows], [stamp_ns for stamp_ns, _ in rows]


def _sends(connections: Sequence[DetachedConnection], data: bytes) -> Iterator[int]:
    """Return the results of `send`, called from C unbound: all sockets are of one class (`takeover.RawSocket`)."""
    sockets: list[Any] = [each.sock for each in connections]
    return map(type(sockets[0]).send, sockets, repeat(data)) if sockets else iter(())


def _negative_errno(error: Exception) -> int:
    if isinstance(error, BlockingIOError):
        return -errno.EAGAIN
    if not isinstance(error, OSError):
        logger.error("Writing to a connection failed; closed.", exc_info=error)
    return -(getattr(error, "errno", None) or errno.EIO)
