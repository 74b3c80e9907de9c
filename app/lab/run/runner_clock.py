"""The runner's own way to the server's time: when to read an edge, and when a trial is over."""

from __future__ import annotations

from dataclasses import dataclass, field

from app import clock
from app.core.clocksync.sync import ClockSync
from app.lab.run.client_link import ClientLink
from app.store.store import StampedProbe

PROBES_AT_START = 32
PROBES_BEFORE_TRIAL = 8

CLOCK_AGE_US_MAX = 5_000_000
"""A trial begins with probes not older than this: its samples need some within 15 s before them, and an idle window,
which is not probed, may be longer than that."""


@dataclass(slots=True)
class RunnerClock:
    """Probes through the clients' process, whose monotonic clock is the runner's too."""

    link: ClientLink
    sync: ClockSync
    age_us_max: int = CLOCK_AGE_US_MAX
    _probed_us: int | None = field(init=False, default=None)
    """When the last burst ended, on the runner's monotonic clock."""

    def synchronise(self, count: int) -> tuple[StampedProbe, ...]:
        """Probe the server's clock, and hand over the probes for the store."""
        probes = tuple(self.link.burst(count))
        for each in probes:
            self.sync.add(each.probe, timebase=each.timebase)
        self._probed_us = clock.monotonic_us()
        return probes

    def synchronise_if_old(self) -> tuple[StampedProbe, ...]:
        """The same with a few probes, when the last ones are old; else none."""
        is_fresh = self._probed_us is not None and clock.monotonic_us() - self._probed_us <= self.age_us_max
        return () if is_fresh else self.synchronise(PROBES_BEFORE_TRIAL)

    def now_us(self) -> int:
        """Now in the server's time base."""
        now_us = clock.monotonic_us()
        model = self.sync.model_at(now_us)
        assert model is not None, "a trial began before the first probe"
        return round(model.server_us(now_us))

    def wait_until(self, moment_us: int) -> None:
        """Let time pass up to a moment of the server's; raises `Stopped` when the run should end meanwhile."""
        self.link.pause((moment_us - self.now_us()) / 1e6)
