"""Event-loop lag of this process, measured by a greenlet that reads the clock on a fixed schedule.

Locust's own CPU warning is a mean over seconds. A process that handles three thousand users in a burst and is idle for
the rest of the second never triggers it, but this probe detects it.
"""

from __future__ import annotations

import time
from array import array

import gevent

PERIOD_NS = 7_300_000
"""Sampling interval: about 137 samples per second, not a multiple of a usual notification rate."""


class LagProbe:
    """Samples the lag for as long as the process lives, and keeps the samples since `begin`."""

    def __init__(self) -> None:
        self._lags_us: array[int] = array("I")
        gevent.spawn(self._sample)

    def begin(self) -> None:
        """Discard all samples."""
        self._lags_us = array("I")

    def ms_p99(self) -> float | None:
        """Return the 99th percentile of the lag since `begin`, ms; `None` without samples."""
        lags_us = sorted(self._lags_us)
        return lags_us[int(len(lags_us) * 0.99)] / 1000 if lags_us else None

    def _sample(self) -> None:
        due_ns = time.monotonic_ns() + PERIOD_NS
        while True:
            gevent.sleep(max(0, due_ns - time.monotonic_ns()) / 1e9)
            now_ns = time.monotonic_ns()
            # Samples that were missed while the process was busy count too, each with its own lateness.
            while due_ns <= now_ns:
                self._lags_us.append(min((now_ns - due_ns) // 1000, 0xFFFFFFFF))
                due_ns += PERIOD_NS
