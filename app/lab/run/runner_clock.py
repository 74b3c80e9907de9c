"""The runner's estimate of the server's time, for CPU windows and ends of trials."""

from __future__ import annotations

from dataclasses import dataclass, field

from app import clock
from app.core.clocksync.sync import ClockSync
from app.lab.run.client_link import ClientLink
from app.store.store import StampedProbe

PROBES_AT_START = 32
PROBES_BEFORE_TRIAL = 8

CLOCK_AGE_US_MAX = 5_000_000
"""Largest age of the last probes when a trial begins: samples need probes within 15 s before them, and an idle window,
in which no probes are sent, may be longer."""


@dataclass(slots=True)
class RunnerClock:
    """Clock synchronisation through the clients' process, which has the same monotonic clock as the runner."""

    link: ClientLink
    sync: ClockSync
    age_us_max: int = CLOCK_AGE_US_MAX
    _probed_us: int | None = field(init=False, default=None)
    """Time of the last burst's end, on the runner's monotonic clock."""

    def synchronise(self, count: int) -> tuple[StampedProbe, ...]:
        """Probe the server's clock; return the probes for the store."""
        probes = tuple(self.link.burst(count))
        for each in probes:
            self.sync.add(each.probe, timebase=each.timebase)
        self._probed_us = clock.monotonic_us()
        return probes

    def synchronise_if_old(self) -> tuple[StampedProbe, ...]:
        """Send a few probes if the last ones are old; return them for the store."""
        is_fresh = self._probed_us is not None and clock.monotonic_us() - self._probed_us <= self.age_us_max
        return () if is_fresh else self.synchronise(PROBES_BEFORE_TRIAL)

    def now_us(self) -> int:
        """Return the current time in the server's time base."""
        now_us = clock.monotonic_us()
        model = self.sync.model_at(now_us)
        assert model is not None, "a trial began before the first probe"
        return round(model.server_us(now_us))

    def wait_until(self, moment_us: int) -> None:
        """Wait until a time in the server's time base. Raises `Stopped` when the run should end meanwhile."""
        self.link.pause((moment_us - self.now_us()) / 1e6)
