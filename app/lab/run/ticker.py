"""Measurement of an event loop's lag: a kernel timer on a fixed schedule, which the loop reads like a socket."""

from __future__ import annotations

import time

from app.server.wsgi.timerfd import TimerFd

PERIOD_US = 7_300
"""Period of about 137 Hz. It is no multiple or fraction of a usual notification rate, so that both do not run in step."""


class Ticker:
    """A timer on a fixed schedule. Raises `OSError` where the platform has no timerfd."""

    def __init__(self, period_us: int = PERIOD_US) -> None:
        self._timer = TimerFd()
        self.fd = self._timer.fd
        self._period_ns = period_us * 1000
        self._next_ns = time.monotonic_ns() + self._period_ns
        self._timer.set(self._next_ns, period_ns=self._period_ns)

    def lag_us(self) -> float | None:
        """Return how long the oldest tick has waited to be read; `None` without a tick."""
        now_ns = time.monotonic_ns()
        count = self._timer.read()
        if count == 0:
            return None
        lag_us = (now_ns - self._next_ns) / 1000
        self._next_ns += count * self._period_ns
        return max(0.0, lag_us)
