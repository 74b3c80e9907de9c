"""Ways of a `TcpProxy` that simulate a bad network or a bad server."""

from __future__ import annotations

import itertools
import math
import random
import threading
from collections.abc import Callable, Iterable, Iterator

from app import clock
from app.tools.calibrate.tcp_proxy import READ_BYTES, Chunk, Way, sleep_until_ns

CUT = None
"""Placed among the pieces for a client, it closes the client's connection."""

Tamper = Callable[[bytes], Iterable[bytes | None]]
"""Returns what a client gets instead of a piece from the server. A piece is a read: on loopback one or more writes."""


def delayed(delay_s: float, lateness_s: list[float] | None = None) -> Way:
    """Release each chunk a fixed time after it was read. `lateness_s`: gets the proxy's own error for each."""
    delay_ns = round(delay_s * 1e9)

    def way(chunks: Iterator[Chunk]) -> Iterator[bytes]:
        for chunk in chunks:
            due_ns = chunk.read_ns + delay_ns
            sleep_until_ns(due_ns)
            if lateness_s is not None:
                lateness_s.append((clock.monotonic_ns() - due_ns) / 1e9)
            yield chunk.data

    return way


def held(may_pass: threading.Event, *, line: bytes = b"") -> Way:
    """Hold back everything while `may_pass` is not set; or only requests whose first line contains `line`.

    Such a request must arrive in a read of its own.
    """

    def way(chunks: Iterator[Chunk]) -> Iterator[bytes]:
        for chunk in chunks:
            if line in chunk.data.partition(b"\r\n")[0]:
                may_pass.wait()
            yield chunk.data

    return way


def calling_at(number: int, act: Callable[[], None]) -> Way:
    """Call `act` before that chunk is passed on, counted from 1 over all connections."""
    numbers = itertools.count(1)

    def way(chunks: Iterator[Chunk]) -> Iterator[bytes]:
        for chunk in chunks:
            if next(numbers) == number:
                act()
            yield chunk.data

    return way


def tampered(tamper: Tamper) -> Way:
    """Pass on what `tamper` makes of each piece; it is called for one piece at a time."""
    lock = threading.Lock()

    def way(chunks: Iterator[Chunk]) -> Iterator[bytes]:
        for chunk in chunks:
            with lock:
                pieces = list(tamper(chunk.data))
            for piece in pieces:
                if piece is CUT:
                    raise ConnectionAbortedError
                yield piece

    return way


def bad_line(
    *,
    latency_s: float = 0.0,
    jitter_s: float = 0.0,
    bytes_per_s: float = math.inf,
    slice_bytes: int = READ_BYTES,
    seed: int = 1,
) -> Way:
    """Pass on slices late, at a limited rate. `jitter_s`: upper bound of an additional random delay of each.

    The limits apply to each connection separately. Slices never overtake each other.
    """
    dice = random.Random(seed)

    def way(chunks: Iterator[Chunk]) -> Iterator[bytes]:
        due_ns = 0.0
        for chunk in chunks:
            for start in range(0, len(chunk.data) or 1, slice_bytes):
                piece = chunk.data[start : start + slice_bytes]
                late_s = latency_s + dice.uniform(0, jitter_s)
                due_ns = max(due_ns, chunk.read_ns + late_s * 1e9) + len(piece) / bytes_per_s * 1e9
                sleep_until_ns(round(due_ns))
                yield piece

    return way


class Torn:
    """Way that resets each connection after a random number of bytes."""

    def __init__(self, least_bytes: int, most_bytes: int, *, seed: int = 1) -> None:
        self.tears = 0
        """Number of connections that were reset."""
        self._range = (least_bytes, most_bytes)
        self._dice = random.Random(seed)

    def __call__(self, chunks: Iterator[Chunk]) -> Iterator[bytes]:
        """Pass on what comes before the reset."""
        left_bytes = self._dice.randint(*self._range)
        for chunk in chunks:
            yield chunk.data[:left_bytes]
            left_bytes -= len(chunk.data)
            if left_bytes <= 0:
                self.tears += 1
                raise ConnectionResetError
