"""The only reader of time in the server, its clock process and the runner.

Every `_us` stamp is `monotonic_us + anchor_us`. The anchor is fixed once, at start, by the process that starts the
others, and handed down; the wall clock is not read again, so a step of it moves no stamp. CLOCK_MONOTONIC is one
for the whole machine, which is why several processes may stamp and their stamps may be compared.
"""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass
from time import monotonic_ns as monotonic_ns  # As it is: a call of ours would cost as much again.

from app.core.units import MonotonicUs, ServerUs

_anchor_us = time.time_ns() // 1000 - time.monotonic_ns() // 1000
_timebase = secrets.token_hex(8)


def fix(*, anchor_us: int, timebase: str) -> None:
    """Take over the anchor of the process that started this one."""
    global _anchor_us, _timebase
    _anchor_us, _timebase = anchor_us, timebase


def anchor_us() -> int:
    """What is added to the monotonic clock, microseconds."""
    return _anchor_us


def timebase() -> str:
    """Names this anchor: random per start. Stamps of two time bases must not be compared."""
    return _timebase


def now_us() -> ServerUs:
    """Now in the server's time base, microseconds since the Unix epoch as it was believed at start."""
    return ServerUs(time.monotonic_ns() // 1000 + _anchor_us)


def stamp_us(moment_ns: int) -> ServerUs:
    """A moment of `monotonic_ns` in the server's time base."""
    return ServerUs(moment_ns // 1000 + _anchor_us)


def monotonic_us() -> MonotonicUs:
    """Now on CLOCK_MONOTONIC alone, microseconds: what a built-in client stamps with."""
    return MonotonicUs(time.monotonic_ns() // 1000)


def kernel_offset_us() -> float:
    """CLOCK_MONOTONIC - CLOCK_REALTIME, microseconds: turns a kernel receive stamp into a monotonic one.

    The narrowest of five readings: a switch away between the two clocks would widen it.
    """
    best_width_ns, best_us = None, 0.0
    for _ in range(5):
        before_ns = time.monotonic_ns()
        wall_ns = time.time_ns()
        after_ns = time.monotonic_ns()
        if best_width_ns is None or after_ns - before_ns < best_width_ns:
            best_width_ns = after_ns - before_ns
            best_us = ((before_ns + after_ns) / 2 - wall_ns) / 1000
    return best_us


@dataclass(frozen=True, slots=True)
class Readings:
    """This machine's clocks at one moment, each with an origin of its own."""

    monotonic_us: float
    wall_us: float
    raw_us: float | None
    """CLOCK_MONOTONIC_RAW, whose rate no time synchronisation bends; `None` where there is none."""


def readings() -> Readings:
    """The clocks read together: the narrowest of five readings, as a switch away in between would part them."""
    best: tuple[int, Readings] | None = None
    for _ in range(5):
        before_ns = time.monotonic_ns()
        wall_ns = time.time_ns()
        raw_ns = (
            time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW) if hasattr(time, "CLOCK_MONOTONIC_RAW") else None
        )
        after_ns = time.monotonic_ns()
        if best is None or after_ns - before_ns < best[0]:
            middle_us = (before_ns + after_ns) / 2000
            raw_us = None if raw_ns is None else raw_ns / 1000
            best = after_ns - before_ns, Readings(middle_us, wall_ns / 1000, raw_us)
    assert best is not None
    return best[1]


def timestamp(stamp_us: ServerUs) -> str:
    """A server stamp as UTC text that sorts and may stand in a file name: `2026-11-21T10-40-07`."""
    return time.strftime("%Y-%m-%dT%H-%M-%S", time.gmtime(stamp_us // 1_000_000))
