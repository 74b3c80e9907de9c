"""How the same bytes reach a lot of sockets: by one call of the kernel where it lets us (ring.py), else by one `send` each.

outlets, their descriptors, data -> how many bytes each took, or its error's number, negative
"""

from __future__ import annotations

import ctypes
import errno
import logging
from array import array
from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any

from app import clock
from app.serving.ring import LOT_MAX, SEND, Ring

if TYPE_CHECKING:
    from app.serving.outlet import Outlet

logger = logging.getLogger("siar.sending")

AT_ONCE = "io_uring"
ONE_BY_ONE = "send"

STAMPED_LOT = 8
"""Connections that share a stamp, where one call sends to several: the last one's is too early by what seven sends take,
some 35 us. A stamp for each would need a call for each, and the instrument would measure another server."""


class Sender:
    """The one or the other; opens its ring with the first use, in the process that will use it. Has no lock."""

    def __init__(self, *, at_once: bool = False) -> None:
        self._wants_ring = at_once
        self._ring: Ring | None = None
        self._data = b""
        """What the ring points to, kept: whoever gets the same next needs no new address."""
        self._has_fallen_short = False

    @property
    def way(self) -> str:
        """`AT_ONCE` or `ONE_BY_ONE`."""
        return ONE_BY_ONE if self._opened() is None else AT_ONCE

    def send(self, outlets: Sequence[Outlet], fds: array[int], data: bytes) -> list[int] | None:
        """`data` to each, `LOT_MAX` at most, none of which has ended; `None`: each took all of it."""
        ring = self._opened()
        if ring is None:
            return _shortened(_one_by_one(outlets, data), data)
        if data is not self._data:
            address = ctypes.c_void_p.from_buffer(ctypes.c_char_p(data)).value or 0
            ring.point(array("Q", [address]) * LOT_MAX, array("I", [len(data)]) * LOT_MAX)
            self._data = data
        results = ring.do(fds, len(data))
        if results is None or len(results) == len(outlets):
            return results
        if not self._has_fallen_short:
            self._has_fallen_short = True
            logger.warning(
                "io_uring took %d of %d sends; the rest goes one by one.", len(results), len(outlets)
            )
        return results + _one_by_one(outlets[len(results) :], data)

    def send_stamped(
        self, outlets: Sequence[Outlet], fds: array[int], data: bytes
    ) -> tuple[list[int] | None, list[int]]:
        """The same, and the time (`clock.monotonic_ns`) right before each send, or before the call that brings several."""
        if self._opened() is None:
            results, stamps_ns = _one_by_one_stamped(outlets, data)
            return _shortened(results, data), stamps_ns
        results, stamps_ns = [], []
        for at in range(0, len(outlets), STAMPED_LOT):
            some = outlets[at : at + STAMPED_LOT]
            stamps_ns += [clock.monotonic_ns()] * len(some)
            of_these = self.send(some, fds[at : at + STAMPED_LOT], data)
            results += [len(data)] * len(some) if of_these is None else of_these
        return _shortened(results, data), stamps_ns

    def _opened(self) -> Ring | None:
        if self._wants_ring:
            self._wants_ring = False
            try:
                self._ring = Ring(SEND)
            except OSError as error:
                logger.info("No io_uring here (%s); every connection has a `send` of its own.", error)
        return self._ring


def _shortened(results: list[int], data: bytes) -> list[int] | None:
    return None if results.count(len(data)) == len(results) else results


def _one_by_one(outlets: Sequence[Outlet], data: bytes) -> list[int]:
    results: list[int] = []
    sends = _sends(outlets, data)
    while len(results) < len(outlets):
        try:  # `extend` keeps what it was given before one fails, and the next time goes on behind that one.
            results.extend(sends)
        except Exception as error:  # noqa: BLE001 - one connection's bug must not end the writing to all others
            results.append(_number_of(error))
    return results


def _one_by_one_stamped(outlets: Sequence[Outlet], data: bytes) -> tuple[list[int], list[int]]:
    rows: list[tuple[int, int]] = []
    pairs = zip(iter(clock.monotonic_ns, None), _sends(outlets, data))  # noqa: B905 - the first one has no end
    while len(rows) < len(outlets):
        try:
            rows.extend(pairs)
        except Exception as error:  # noqa: BLE001 - as above
            rows.append((clock.monotonic_ns(), _number_of(error)))
    return [taken for _, taken in rows], [stamp_ns for stamp_ns, _ in rows]


def _sends(outlets: Sequence[Outlet], data: bytes) -> Iterator[int]:
    """The class's own `send`, called from C; all are of one class (`takeover.RawSocket`), so none is bound to its object."""
    sockets: list[Any] = [each.sock for each in outlets]
    return map(type(sockets[0]).send, sockets, repeat(data)) if sockets else iter(())


def _number_of(error: Exception) -> int:
    if isinstance(error, BlockingIOError):
        return -errno.EAGAIN
    if not isinstance(error, OSError):
        logger.error("Writing to a connection failed; closed.", exc_info=error)
    return -(getattr(error, "errno", None) or errno.EIO)
