"""How the same bytes reach a lot of sockets: by one call of the kernel where it lets us (ring.py), else by one `send` each.

outlets, their descriptors, data -> lots, and between two of them a look whether to pause
                                 -> how many bytes each took, or its error's number, negative
"""

from __future__ import annotations

import ctypes
import errno
import logging
import mmap
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

from app import clock
from app.server.fanout.connection import DetachedConnection
from app.server.fanout.cursor_runs import CursorRuns
from app.server.fanout.ring import LOT_MAX, SEND, Ring

logger = logging.getLogger("siar.sending")

LOTS = 8
"""Between two of them it is looked whether to pause, and no more: half of a round of a thousand, as a publisher helps to write
it, goes without going back to whoever decides. By itself a lot cost some 16 us of Python, out of cold caches: three sends."""

ROW_MAX = LOTS * LOT_MAX

ROOM_BYTES = 131_072
"""For what is sent; more is taken where one notification is longer."""

AT_ONCE = "io_uring"
ONE_BY_ONE = "send"

STAMPED_LOT = 8
"""Connections that share a stamp, where one call sends to several: the last one's is too early by what seven sends take,
some 35 us. A stamp for each would need a call for each, and the instrument would measure another server."""


@dataclass(slots=True)
class Pause:
    """When to stop amid a row."""

    is_due: Callable[[], bool]
    """Asked again and again, behind some that have been written to."""
    every: int = LOT_MAX
    """Connections between two times, `LOT_MAX` at most."""


class Sender:
    """The one or the other; opens its ring with the first use, in the process that will use it. Has no lock."""

    def __init__(self, *, at_once: bool = False) -> None:
        self._wants_ring = at_once
        self._ring: Ring | None = None
        self._data = b""
        """What is in the ring's room."""
        self._room = mmap.mmap(-1, ROOM_BYTES)
        """Where all of the ring's entries point to."""
        self._has_fallen_short = False

    @property
    def way(self) -> str:
        """`AT_ONCE` or `ONE_BY_ONE`."""
        return ONE_BY_ONE if self._opened() is None else AT_ONCE

    def send(
        self, row: CursorRuns, begin: int, end: int, data: bytes, pause: Pause | None = None
    ) -> tuple[int, list[int] | None]:
        """`data` to those from `begin` to before `end`, `ROW_MAX` at most, none of which has ended, or until `pause` is due.

        To how many, and how many bytes each of those took; `None`: all of them.
        """
        ring, size, total = self._opened(), len(data), end - begin
        if ring is not None:
            self._lay(ring, row.fds[begin:end], data)
        every = LOT_MAX if pause is None else pause.every
        results: list[int] | None = None
        done = 0
        while done < total:
            count = min(every, total - done)
            if ring is None:
                outlets = row.outlets[begin + done : begin + done + count]
                some = _shortened(_one_by_one(outlets, data), data)
            else:
                some = ring.go(count, size)
                if some is not None and len(some) < count:
                    self._tell(len(some), count)
                    some += _one_by_one(row.outlets[begin + done + len(some) : begin + done + count], data)
                    self._lay(ring, row.fds[begin + done + count : end], data)
            if some is not None and results is None:
                results = [size] * done
            if results is not None:
                results += [size] * count if some is None else some
            done += count
            if pause is not None and pause.is_due():
                break
        return done, results

    def send_stamped(
        self, row: CursorRuns, begin: int, end: int, data: bytes, pause: Pause | None = None
    ) -> tuple[int, list[int] | None, list[int]]:
        """The same, and the time (`clock.monotonic_ns`) right before each send, or before the call that brings several."""
        is_one_by_one = self._opened() is None
        every = LOT_MAX if is_one_by_one else STAMPED_LOT
        results, stamps_ns = [], []
        for at in range(begin, end, every):
            count = min(every, end - at)
            if is_one_by_one:
                of_these, stamps = _one_by_one_stamped(row.outlets[at : at + count], data)
            else:
                stamps = [clock.monotonic_ns()] * count
                _, told = self.send(row, at, at + count, data)
                of_these = [len(data)] * count if told is None else told
            results += of_these
            stamps_ns += stamps
            if pause is not None and pause.is_due():
                break
        return len(results), _shortened(results, data), stamps_ns

    def _lay(self, ring: Ring, fds: array[int], data: bytes) -> None:
        size = len(data)
        if data is not self._data:
            if size > len(self._room):
                self._room = mmap.mmap(-1, size)
                self._point(ring)
            self._room[:size] = data
            self._data = data
        ring.lay(fds, array("I", [size]) * len(fds))

    def _point(self, ring: Ring) -> None:
        address = ctypes.addressof(ctypes.c_char.from_buffer(self._room))
        ring.point(array("Q", [address]) * ring.places, array("I", [0]) * ring.places)

    def _tell(self, taken: int, wanted: int) -> None:
        if not self._has_fallen_short:
            self._has_fallen_short = True
            logger.warning("io_uring took %d of %d sends; the rest goes one by one.", taken, wanted)

    def _opened(self) -> Ring | None:
        if self._wants_ring:
            self._wants_ring = False
            try:
                self._ring = Ring(SEND, ROW_MAX)
                self._point(self._ring)
            except OSError as error:
                logger.info("No io_uring here (%s); every connection has a `send` of its own.", error)
        return self._ring


def _shortened(results: list[int], data: bytes) -> list[int] | None:
    return None if results.count(len(data)) == len(results) else results


def _one_by_one(outlets: Sequence[DetachedConnection], data: bytes) -> list[int]:
    results: list[int] = []
    sends = _sends(outlets, data)
    while len(results) < len(outlets):
        try:  # `extend` keeps what it was given before one fails, and the next time goes on behind that one.
            results.extend(sends)
        except Exception as error:  # noqa: BLE001 - one connection's bug must not end the writing to all others
            results.append(_number_of(error))
    return results


def _one_by_one_stamped(outlets: Sequence[DetachedConnection], data: bytes) -> tuple[list[int], list[int]]:
    rows: list[tuple[int, int]] = []
    pairs = zip(iter(clock.monotonic_ns, None), _sends(outlets, data))  # noqa: B905 - the first one has no end
    while len(rows) < len(outlets):
        try:
            rows.extend(pairs)
        except Exception as error:  # noqa: BLE001 - as above
            rows.append((clock.monotonic_ns(), _number_of(error)))
    return [taken for _, taken in rows], [stamp_ns for stamp_ns, _ in rows]


def _sends(outlets: Sequence[DetachedConnection], data: bytes) -> Iterator[int]:
    """The class's own `send`, called from C; all are of one class (`takeover.RawSocket`), so none is bound to its object."""
    sockets: list[Any] = [each.sock for each in outlets]
    return map(type(sockets[0]).send, sockets, repeat(data)) if sockets else iter(())


def _number_of(error: Exception) -> int:
    if isinstance(error, BlockingIOError):
        return -errno.EAGAIN
    if not isinstance(error, OSError):
        logger.error("Writing to a connection failed; closed.", exc_info=error)
    return -(getattr(error, "errno", None) or errno.EIO)
