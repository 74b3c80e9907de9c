"""When a client asks the clock: 32 probes at the start, bursts of 8 about every 5 s, 16 at the end.

Pure functions of a random source: any callable that returns a number in [0, 1), `random.Random(seed).random` here
and `Math.random` in `static/js/probing.js`, which computes the same bursts and periods from the same source. The times
of a whole session, `session_us`, are here only: a phone does not know beforehand how long it will listen.
"""

from __future__ import annotations

from collections.abc import Callable

START_PROBE_COUNT = 32
"""Enough for a bound near the path's own limit before the first notification is sent."""

BURST_PROBE_COUNT = 8
"""The first probe of a burst wakes a dozing radio; the others then meet it awake."""

END_PROBE_COUNT = 16
"""Closes the polygon behind the last samples, which otherwise would be extrapolated."""

PROBE_SPACING_MIN_US = 15_000.0
PROBE_SPACING_MAX_US = 40_000.0
"""Random within these limits, so that probes do not fall into step with Wi-Fi beacons (102.4 ms)."""

BURST_PERIOD_US = 5_000_000.0
BURST_JITTER_US = 1_000_000.0
"""From the start of a burst to the next: the period, plus or minus the jitter."""

Random = Callable[[], float]
"""Returns the next number in [0, 1)."""


def burst_us(probe_count: int, random: Random) -> list[float]:
    """When to send each probe of a burst, microseconds after its start; the first at 0."""
    times_us: list[float] = []
    time_us = 0.0
    for _ in range(probe_count):
        times_us.append(time_us)
        time_us += _uniform(PROBE_SPACING_MIN_US, PROBE_SPACING_MAX_US, random)
    return times_us


def burst_period_us(random: Random) -> float:
    """From the start of one burst to the start of the next, microseconds."""
    return _uniform(BURST_PERIOD_US - BURST_JITTER_US, BURST_PERIOD_US + BURST_JITTER_US, random)


def session_us(duration_us: float, random: Random) -> list[float]:
    """When to send every probe of a session whose length is known, microseconds after its start, in order.

    The last burst starts at `duration_us`, behind the last sample; at least two seconds.
    """
    times_us = burst_us(START_PROBE_COUNT, random)
    start_us = burst_period_us(random)
    # A burst that the closing one would overtake is left out; one second is longer than any burst.
    while start_us < duration_us - BURST_JITTER_US:
        times_us += [start_us + time_us for time_us in burst_us(BURST_PROBE_COUNT, random)]
        start_us += burst_period_us(random)
    times_us += [duration_us + time_us for time_us in burst_us(END_PROBE_COUNT, random)]
    return times_us


def _uniform(low: float, high: float, random: Random) -> float:
    return low + (high - low) * random()
