"""Simulation of a client clock and a network path with known truth, for the clock tests and their test vectors.

Everything happens at an *elapsed* time, true microseconds since the session began. Two clocks stamp it: the server's,
which is true time plus an anchor, and the client's, which runs at its own rate, wanders, steps and sleeps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from random import Random

from app.core.clocksync.model import Probe

ANCHOR_US = 1_790_000_000_000_000
IDLE_US = 100_000.0
"""Idle time after which a radio in power save mode dozes."""
BEACON_US = 102_400.0


START_PROBE_COUNT, BURST_PROBE_COUNT, END_PROBE_COUNT = 32, 8, 16
PROBE_SPACING_US = (15_000.0, 40_000.0)
BURST_PERIOD_US = (4_000_000.0, 6_000_000.0)
"""A phone's probes, as planned and explained in `static/js/probing.js`."""

BURST_DURATION_MAX_US = 1_000_000.0
"""Upper bound of a burst's duration."""

Delay = Callable[[Random, bool], float]
"""Microseconds of delay, from a random source and whether the radio dozed."""


def _exponential(least_us: float, mean_us: float) -> Delay:
    return lambda rng, dozed: least_us + rng.expovariate(1.0 / mean_us)


def _wifi(least_us: float) -> Delay:
    """Return mostly short delays, with an occasional retransmission."""
    return lambda rng, dozed: (
        least_us
        + rng.expovariate(1.0 / 700.0)
        + (rng.uniform(5_000.0, 30_000.0) if rng.random() < 0.03 else 0.0)
    )


def _power_save(rng: Random, dozed: bool) -> float:
    return _wifi(1_000.0)(rng, dozed) + (rng.uniform(0.0, BEACON_US) if dozed else 0.0)


PATHS: dict[str, tuple[Delay, Delay]] = {
    "wired": (_exponential(150.0, 50.0), _exponential(150.0, 50.0)),
    "wifi": (_wifi(1_000.0), _wifi(1_000.0)),
    "asym": (_exponential(1_000.0, 8_000.0), _wifi(1_000.0)),
    "psm": (_wifi(1_000.0), _power_save),
    "basefix": (_wifi(1_000.0), _wifi(9_000.0)),
}
"""Delays up and down by network, as in the table of `measurement.md` section 1."""


@dataclass(frozen=True)
class ClientClock:
    """A client's clock as a function of elapsed time."""

    start_us: float = 250_000.0
    rate: float = 0.0
    """Rate error against true time, as a plain ratio."""
    wander_us: float = 0.0
    """Amplitude of a slow oscillation around the straight line."""
    quantum_us: float = 100.0
    """Resolution: stamps are rounded down to a multiple of it."""
    steps: tuple[tuple[float, float], ...] = ()
    """(elapsed_us, step_us) pairs."""
    sleep: tuple[float, float] = (math.inf, 0.0)
    """(elapsed_us, duration_us): the clock stands still, and nothing is sent or received."""

    def stamp_us(self, elapsed_us: float) -> float:
        slept_us = min(max(elapsed_us - self.sleep[0], 0.0), self.sleep[1])
        awake_us = elapsed_us - slept_us
        swing_us = self.wander_us * math.sin(elapsed_us / 7e6)
        stepped_us = sum(step_us for at_us, step_us in self.steps if elapsed_us >= at_us)
        exact_us = self.start_us + awake_us * (1.0 + self.rate) + swing_us + stepped_us
        return math.floor(exact_us / self.quantum_us) * self.quantum_us

    def is_asleep(self, elapsed_us: float) -> bool:
        return 0.0 <= elapsed_us - self.sleep[0] < self.sleep[1]

    def awake_from_us(self, elapsed_us: float) -> float:
        return self.sleep[0] + self.sleep[1] if self.is_asleep(elapsed_us) else elapsed_us


@dataclass(frozen=True)
class Arrival:
    """One notification with its true delay."""

    sent_us: float
    received_us: float
    delay_us: float
    elapsed_us: float


@dataclass
class Session:
    """Everything that a client would have recorded."""

    probes: list[tuple[Probe, str]] = field(default_factory=list)
    """Probes with their timebase, in the order sent."""
    arrivals: list[Arrival] = field(default_factory=list)


def simulate(
    path: str,
    *,
    seed: int,
    clock: ClientClock,
    duration_us: float = 120e6,
    notification_period_us: float = 500_000.0,
    restart_us: float = math.inf,
) -> Session:
    """Simulate a session over a path. At `restart_us` the server restarts, with another anchor and timebase."""
    rng = Random(seed)
    session = Session()
    for probe, timebase in _probes(path, rng, clock, duration_us, restart_us):
        session.probes.append((probe, timebase))
    for number in range(1, int(duration_us / notification_period_us)):
        due_us = number * notification_period_us + rng.uniform(0.0, 1_000.0)
        received_us = clock.awake_from_us(due_us + PATHS[path][1](rng, True))
        if due_us < restart_us <= received_us:
            continue
        sent_us = _server_us(due_us, restart_us)
        truth_us = received_us - (sent_us - _anchor_us(due_us, restart_us))
        session.arrivals.append(Arrival(sent_us, clock.stamp_us(received_us), truth_us, received_us))
    return session


def _probes(
    path: str, rng: Random, clock: ClientClock, duration_us: float, restart_us: float
) -> Iterator[tuple[Probe, str]]:
    up, down = PATHS[path]
    last_sent_us = received_us = answered_us = -math.inf
    for sent_us in _probe_times_us(duration_us, rng):
        if clock.is_asleep(sent_us):
            continue
        dozed = sent_us - last_sent_us > IDLE_US
        # One TCP connection, so no packet overtakes another.
        received_us = max(received_us, sent_us + up(rng, dozed))
        held_us = rng.uniform(5.0, 60.0)
        answered_us = max(answered_us, clock.awake_from_us(received_us + held_us + down(rng, dozed)))
        last_sent_us = sent_us
        if sent_us < restart_us <= answered_us:
            continue
        yield (
            Probe(
                clock.stamp_us(sent_us),
                _server_us(received_us, restart_us),
                _server_us(received_us + held_us, restart_us),
                clock.stamp_us(answered_us),
            ),
            "b" if received_us >= restart_us else "a",
        )


def _probe_times_us(duration_us: float, rng: Random) -> list[float]:
    """Return a phone's probe times, in microseconds since the session began; the last burst starts at its end."""
    times_us = _burst_us(0.0, START_PROBE_COUNT, rng)
    start_us = rng.uniform(*BURST_PERIOD_US)
    while start_us < duration_us - BURST_DURATION_MAX_US:
        times_us += _burst_us(start_us, BURST_PROBE_COUNT, rng)
        start_us += rng.uniform(*BURST_PERIOD_US)
    return times_us + _burst_us(duration_us, END_PROBE_COUNT, rng)


def _burst_us(start_us: float, probe_count: int, rng: Random) -> list[float]:
    gaps_us = (rng.uniform(*PROBE_SPACING_US) for _ in range(probe_count))
    return list(accumulate(gaps_us, initial=start_us))[:-1]


def _anchor_us(elapsed_us: float, restart_us: float) -> float:
    return ANCHOR_US + (7_300_000.0 if elapsed_us >= restart_us else 0.0)


def _server_us(elapsed_us: float, restart_us: float) -> float:
    return float(math.floor(elapsed_us + _anchor_us(elapsed_us, restart_us)))
