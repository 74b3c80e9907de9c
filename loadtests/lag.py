"""How late this process comes to what is due: a greenlet on a fixed schedule that looks at the clock.

Locust's own CPU warning is a mean over seconds; a process that handles three thousand users in a burst and rests for
the remainder of the second never sets it off. This does see it.
"""

from __future__ import annotations

import time
from array import array

import gevent

PERIOD_NS = 7_300_000
"""About 137 looks a second, and no multiple of a usual notification rate."""


class LagProbe:
    """Looks for as long as the process lives; what it sees is kept from `begin` on."""

    def __init__(self) -> None:
        self._lags_us: array[int] = array("I")
        gevent.spawn(self._look)

    def begin(self) -> None:
        """Forget what was seen."""
        self._lags_us = array("I")

    def ms_p99(self) -> float | None:
        """The 99th percentile since `begin`; `None` when nothing was seen."""
        lags_us = sorted(self._lags_us)
        return lags_us[int(len(lags_us) * 0.99)] / 1000 if lags_us else None

    def _look(self) -> None:
        due_ns = time.monotonic_ns() + PERIOD_NS
        while True:
            gevent.sleep(max(0, due_ns - time.monotonic_ns()) / 1e9)
            now_ns = time.monotonic_ns()
            # Every look that was missed while the process was busy counts, each with its own lateness.
            while due_ns <= now_ns:
                self._lags_us.append(min((now_ns - due_ns) // 1000, 0xFFFFFFFF))
                due_ns += PERIOD_NS
