"""A TCP proxy that impairs a stream notification by notification, and records what it did.

Each chunk is released at its own stamp + delay, so that waiting for the one before it adds no further delay. A chunk is
the result of one read. At calibration's rates that is exactly one notification, so that it can be dropped or repeated
without breaking the stream. Chunks with none or several notifications pass unchanged.
"""

from __future__ import annotations

import itertools
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass

from app import clock
from app.tools.calibrate.tcp_proxy import Chunk, TcpProxy, sleep_until_ns

_SEQ = re.compile(rb'"seq":(\d{1,9})')
"""A notification's number in its JSON; SSE and WebSocket frames from a server carry it as plain text."""


@dataclass(frozen=True, slots=True)
class Impairment:
    """Impairment of the stream from server to client; none by default."""

    delay_us: int = 0
    """Delay of every chunk."""
    delays_us: tuple[int, ...] = ()
    """Additional delay of each notification, indexed by its number."""
    dropped: frozenset[int] = frozenset()
    """Numbers of notifications that are not sent."""
    repeated: frozenset[int] = frozenset()
    """Numbers of notifications that are sent twice."""
    swapped: frozenset[int] = frozenset()
    """Numbers of notifications that are sent right after their successor."""
    cut_at: int | None = None
    """Number of the notification at which every connection is broken, once. It and the rest of its chunk are not
    sent."""
    outage_us: int = 0
    """Time after the break for which new connections have to wait."""


@dataclass(frozen=True, slots=True)
class Passage:
    """Record of a notification that was sent on."""

    connection: int
    """0-based, in the order of accepting."""
    seq: int
    read_us: float
    """True clock: arrival from the server."""
    released_us: float
    """True clock: right before the write to the client."""
    written_us: float
    """True clock: right after the write. The client's kernel received it between the two."""

    @property
    def held_us(self) -> float:
        """Time for which the proxy actually held it."""
        return self.released_us - self.read_us

    @property
    def uncertainty_us(self) -> float:
        """Uncertainty of `released_us` as the moment of sending."""
        return self.written_us - self.released_us


class Proxy(TcpProxy):
    """Proxy with an impairment from server to client."""

    def __init__(self, host: str, port: int, impairment: Impairment = Impairment()) -> None:
        self.impairment = impairment
        self.passages: list[Passage] = []
        """Records of what was sent on, in the order of release."""
        self.received: list[int] = []
        """Numbers of everything that came from the server."""
        self.cut_us: float | None = None
        """True clock: when the connections were broken; `None` before."""
        self._cutting = threading.Lock()
        self._connections = itertools.count()
        super().__init__(host, port, to_client=self._impair)

    def _impair(self, chunks: Iterator[Chunk]) -> Iterator[bytes]:
        # Called in the order of accepting, which the start of a generator is not.
        return self._impaired(next(self._connections), chunks)

    def _impaired(self, connection: int, chunks: Iterator[Chunk]) -> Iterator[bytes]:
        waiting: Chunk | None = None  # A swapped chunk, which follows the next one.
        for chunk in chunks:
            self.received += _seqs(chunk)
            seq = _seq(chunk)
            sleep_until_ns(chunk.read_ns + 1000 * self._delay_us(seq))
            if self._is_to_cut(chunk) and self._cut_once():
                return
            sending = [] if seq in self.impairment.dropped else [chunk]
            if seq in self.impairment.repeated:
                sending.append(chunk)
            if seq in self.impairment.swapped and waiting is None:
                sending, waiting = [], chunk
            elif waiting is not None:
                sending, waiting = [*sending, waiting], None
            for each in sending:
                # On loopback, the peer's kernel has the data before the call returns.
                released_us = clock.monotonic_ns() / 1000
                yield each.data
                written_us = clock.monotonic_ns() / 1000
                self.passages += [
                    Passage(connection, number, each.read_ns / 1000, released_us, written_us)
                    for number in _seqs(each)
                ]

    def _delay_us(self, seq: int | None) -> int:
        own = self.impairment.delays_us
        extra_us = own[seq] if seq is not None and seq < len(own) else 0
        return self.impairment.delay_us + extra_us

    def _is_to_cut(self, chunk: Chunk) -> bool:
        """Return whether to break the connections: at the number or any later one.

        The number may have come in one chunk with the next, or a client that connected later may have missed it.
        """
        cut_at = self.impairment.cut_at
        return cut_at is not None and max(_seqs(chunk), default=-1) >= cut_at

    def _cut_once(self) -> bool:
        """Break every connection, and return true; false if that was done before."""
        with self._cutting:
            if self.cut_us is not None:
                return False
            self.cut_us = clock.monotonic_ns() / 1000
        self.cut(away_s=self.impairment.outage_us / 1e6)
        return True


def _seqs(chunk: Chunk) -> list[int]:
    """Return the numbers of the chunk's notifications."""
    return [int(seq) for seq in _SEQ.findall(chunk.data)]


def _seq(chunk: Chunk) -> int | None:
    """Return the number of the chunk's notification; `None` if it has none or several."""
    seqs = _seqs(chunk)
    return seqs[0] if len(seqs) == 1 else None
