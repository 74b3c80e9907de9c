"""One unbroken stretch of a client's clock: its probes, and a model for each window of 60 s.

A straight line holds for about a minute, so probes are fitted in windows that overlap by half, and a probe counts
in both windows that contain it:

    window 0   |---------60 s----------|
    window 1               |-----------------------|
    window 2                            |-----------------------|

Both windows at a time c hold the truth, so the one with the smaller bound there answers. Two probes at most 30 s
apart always share a window; that is what makes a break between them show.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from operator import attrgetter

from app.core.clocksync.model import ClockModel, Probe, Tolerances

HALF_WINDOW_US = 30_000_000.0
"""Windows begin this far apart and last twice as long."""

REACH_US = 15_000_000.0
"""A sample needs a probe this near; within a window two such probes check each other."""

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
        """When the first probe was sent, client clock. Raises `IndexError` while there is none."""
        return self.probes[0].t1_us

    @property
    def end_us(self) -> float:
        """When the last probe was answered, client clock. Raises `IndexError` while there is none."""
        return self.probes[-1].t4_us

    def add(self, probe: Probe) -> bool:
        """Narrow the windows by a probe. False, and nothing changed, when it contradicts the probes in one."""
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

        Slow probes after a step can agree with the clock before it, and would then bend the model of both sides.
        So the break is looked for from behind as well: the first earlier probe that contradicts the later ones
        was sent before the break ended, and only probes answered before that one was sent are surely clean.
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
        """Let go of the probes of the first 30 s that still has any, and of the window that ends with them."""
        oldest = self._half_number(self.start_us)
        self.probes = [probe for probe in self.probes if self._half_number(probe.t1_us) > oldest]
        self._windows.pop(oldest - 1, None)
        if not self.probes:
            self._windows.clear()

    def has_probes_around(self, client_us: float, *, live: bool) -> bool:
        """Whether probes within 15 s support a sample: on both sides, or before it while the session is live."""
        after = bisect_right(self.probes, client_us, key=_SENT_US)
        if after == 0 or client_us - self.probes[after - 1].t1_us > REACH_US:
            return False
        if after == len(self.probes):
            return live or client_us <= self.end_us
        return live or self.probes[after].t1_us - client_us <= REACH_US

    def model_at(self, client_us: float) -> ClockModel | None:
        """The narrower of the windows around a client time, else the nearest one; `None` without probes."""
        home = self._half_number(client_us)
        around = [self._windows[number] for number in (home - 1, home) if number in self._windows]
        if around:
            return min(around, key=lambda window: window.bound_us(client_us))
        nearest = min(self._windows, key=lambda number: (abs(number - home), number), default=None)
        return None if nearest is None else self._windows[nearest]

    def _half_number(self, client_us: float) -> int:
        return math.floor((client_us - self._origin_us) / HALF_WINDOW_US)

    def _window_numbers(self, client_us: float) -> Sequence[int]:
        """The windows that contain a client time, the earlier first; before the second half there is one."""
        half = self._half_number(client_us)
        return (half - 1, half) if half > 0 else (0,)
