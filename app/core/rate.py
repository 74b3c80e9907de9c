"""A rate that may be exceeded for a moment: the generic cell rate algorithm (ITU-T I.371, Annex A), one integer."""

from __future__ import annotations


class Rate:
    """Allows `per_s` events in a second on average and `burst` at once. The time is the caller's."""

    __slots__ = ("_pause_us", "_tolerance_us", "_would_be_us")

    def __init__(self, *, per_s: float, burst: float) -> None:
        assert per_s > 0
        assert burst >= 1
        self._pause_us = 1_000_000 / per_s
        self._tolerance_us = self._pause_us * (burst - 1)
        self._would_be_us = 0.0
        """When the next event would come if all had come evenly."""

    def wait_us(self, now_us: int) -> int:
        """Counts an event and answers 0, or does not count it and answers how long to wait for the next try."""
        ahead_us = self._would_be_us - now_us - self._tolerance_us
        if ahead_us > 0:
            return int(ahead_us) + 1
        self._would_be_us = max(self._would_be_us, now_us) + self._pause_us
        return 0
