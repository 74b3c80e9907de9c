"""One segment of a client's clock without a break: its probes, and a model for each window of 60 s.

A clock stays close to a straight line for about a minute. Therefore probes are fitted in windows that overlap by half,
and each probe counts in both windows that contain it:

    window 0   |---------60 s----------|
    window 1               |-----------------------|
    window 2                            |-----------------------|

Both windows at a time c contain the true clock, so the one with the smaller bound is used. Two probes at most 30 s
apart always share a window, so that a break between them is detected.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from operator import attrgetter

from app.core.clocksync.model import ClockModel, Probe, Tolerances

HALF_WINDOW_US = 30_000_000.0
"""Distance between the starts of two windows; a window lasts twice as long."""

REACH_US = 15_000_000.0
"""Greatest distance of a sample from a probe; two such probes share a window and check each other."""

_SENT_US = attrgetter("t1_us")


class ClockSegment:
    """Probes that one clock explains, in the order in which they were sent."""

    def __init__(self, timebase: str, tolerances: Tolerances) -> None:
        self.timebase = timebase
        self.probes: list[Probe] = []
        self._tolerances = tolerances
        self._windows: dict[int, ClockModel] = {}
        self._origin_us = 0.0

    @property
    def start_us(self) -> float:
        """Moment at which the first probe was sent, client clock. Raises `IndexError` without probes."""
        return self.probes[0].t1_us

    @property
    def end_us(self) -> float:
        """Moment at which the last probe was answered, client clock. Raises `IndexError` without probes."""
        return self.probes[-1].t4_us

    def add(self, probe: Probe) -> bool:
        """Narrow the windows by a probe. Return False, and change nothing, if it contradicts the probes of a window."""
        if not self.probes:
            self._origin_us = float(probe.t1_us)
        narrowed: dict[int, ClockModel] = {}
        for number in self._window_numbers(probe.t1_us):
            window = self._windows.get(number)
            model = window.with_probe(probe) if window else ClockModel.start(probe, self._tolerances)
            if model is None:
                return False
            narrowed[number] = model
        self._windows.update(narrowed)
        self.probes.append(probe)
        return True

    def retreat(self, breaking: Probe) -> None:
        """Drop the probes that may have been sent after the break which `breaking` revealed.

        Slow probes after a step can agree with the clock before it, and would then distort the model of both sides.
        Therefore the break is also searched backwards. The latest earlier probe that contradicts the later ones was
        sent before the break ended; only probes that were answered before it was sent are certainly clean.
        """
        later = ClockModel.start(breaking, self._tolerances)
        broken_after_us = self.start_us
        for probe in reversed(self.probes):
            later = later and later.with_probe(probe)
            if later is None:
                broken_after_us = probe.t1_us
                break
        dropped = [probe for probe in self.probes if probe.t4_us >= broken_after_us]
        self.probes = [probe for probe in self.probes if probe.t4_us < broken_after_us]
        self._refit_windows_after(dropped[0].t1_us)

    def _refit_windows_after(self, client_us: float) -> None:
        first_number = self._window_numbers(client_us)[0]
        for number in [number for number in self._windows if number >= first_number]:
            del self._windows[number]
            probes = [probe for probe in self.probes if number in self._window_numbers(probe.t1_us)]
            if model := ClockModel.fit(probes, self._tolerances):
                self._windows[number] = model

    def forget_oldest(self) -> None:
        """Drop the probes of the oldest half window of 30 s, and the window that ends with it."""
        oldest = self._half_number(self.start_us)
        self.probes = [probe for probe in self.probes if self._half_number(probe.t1_us) > oldest]
        self._windows.pop(oldest - 1, None)
        if not self.probes:
            self._windows.clear()

    def has_probes_around(self, client_us: float, *, live: bool) -> bool:
        """Return True if probes within 15 s support a sample: on both sides, or only before it if `live`."""
        after = bisect_right(self.probes, client_us, key=_SENT_US)
        if after == 0 or client_us - self.probes[after - 1].t1_us > REACH_US:
            return False
        if after == len(self.probes):
            return live or client_us <= self.end_us
        return live or self.probes[after].t1_us - client_us <= REACH_US

    def model_at(self, client_us: float) -> ClockModel | None:
        """Return the model with the smaller bound around a client time, else the nearest one; `None` without probes."""
        home = self._half_number(client_us)
        around = [self._windows[number] for number in (home - 1, home) if number in self._windows]
        if around:
            return min(around, key=lambda window: window.bound_us(client_us))
        nearest = min(self._windows, key=lambda number: (abs(number - home), number), default=None)
        return None if nearest is None else self._windows[nearest]

    def _half_number(self, client_us: float) -> int:
        return math.floor((client_us - self._origin_us) / HALF_WINDOW_US)

    def _window_numbers(self, client_us: float) -> Sequence[int]:
        """Return the numbers of the windows that contain a client time, ascending: two, or one in the first half window."""
        half = self._half_number(client_us)
        return (half - 1, half) if half > 0 else (0,)
