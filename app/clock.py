"""The only module that reads the time in the server, its clock process and the runner.

Every `_us` stamp is `monotonic_us + anchor_us`. The process that starts the others fixes the anchor once, at start, and
passes it to them. The wall clock is not read again, so a clock step changes no stamp. CLOCK_MONOTONIC is the same for
all processes of a machine, so stamps taken by different processes can be compared.
"""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass
from time import monotonic_ns as monotonic_ns  # Re-exported: a wrapper would double the cost of a call.
from typing import Protocol

from app.core.units import MonotonicUs, ServerUs

_anchor_us = time.time_ns() // 1000 - time.monotonic_ns() // 1000
_timebase = secrets.token_hex(8)


class Clock(Protocol):
    """A clock that components are given: this module, or a fake in tests."""

    def now_us(self) -> ServerUs:
        """Return the present moment in the server's time base."""
        ...

    def monotonic_us(self) -> MonotonicUs:
        """Return the present moment of CLOCK_MONOTONIC."""
        ...


def fix(*, anchor_us: int, timebase: str) -> None:
    """Adopt the anchor and time base of the process that started this one."""
    global _anchor_us, _timebase
    _anchor_us, _timebase = anchor_us, timebase


def anchor_us() -> int:
    """Return the offset that is added to the monotonic clock, microseconds."""
    return _anchor_us


def timebase() -> str:
    """Return the name of this anchor, random per start. Stamps of two time bases must not be compared."""
    return _timebase


def now_us() -> ServerUs:
    """Return the present moment in the server's time base: microseconds since the Unix epoch as known at start."""
    return ServerUs(time.monotonic_ns() // 1000 + _anchor_us)


def stamp_us(moment_ns: int) -> ServerUs:
    """Convert a reading of `monotonic_ns` to the server's time base."""
    return ServerUs(moment_ns // 1000 + _anchor_us)


def monotonic_us() -> MonotonicUs:
    """Return CLOCK_MONOTONIC in microseconds, the clock with which built-in clients stamp."""
    return MonotonicUs(time.monotonic_ns() // 1000)


def kernel_offset_us() -> float:
    """Return CLOCK_MONOTONIC - CLOCK_REALTIME, microseconds, which converts a kernel receive stamp to a monotonic one.

    The narrowest of five readings is used, because a context switch between the two clocks widens a reading.
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
    """This machine's clocks at one moment; each clock has its own origin."""

    monotonic_us: float
    wall_us: float
    raw_us: float | None
    """CLOCK_MONOTONIC_RAW, whose rate time synchronisation does not adjust; `None` on platforms without it."""


def readings() -> Readings:
    """Read all clocks together: the narrowest of five readings, because a context switch in between separates them."""
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
    """Format a server stamp as UTC text that sorts by time and is valid in a file name: `2026-11-21T10-40-07`."""
    return time.strftime("%Y-%m-%dT%H-%M-%S", time.gmtime(stamp_us // 1_000_000))
