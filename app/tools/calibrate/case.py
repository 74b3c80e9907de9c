"""Cases of a calibration: what each of them injects. Random choices are seeded, so that every run injects the same."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from app.core.wire import TRANSPORTS
from app.lab.run.simulated_clock import TRUE_CLOCK, SimulatedClock
from app.tools.calibrate.proxy import Impairment

CLIENTS = 2
"""Two clients, so that a figure that is right for only one of them is noticed."""

RATE_HZ = 50.0
"""20 ms between notifications: enough for a proxy to delay each one separately, and a hundred take two seconds."""

WARMUP = 10

SWAP_DELAYS_US_MAX = 15_000
"""Below the 20 ms between two notifications, because on one TCP stream none can overtake another."""

_MS = 1000
_HOUR_US = 3_600_000_000.0


class Part(StrEnum):
    """The part of the instrument that a case tests."""

    DELAY = "delay"
    JITTER = "jitter"
    COUNT = "count"
    """Counts of lost, repeated and reordered notifications."""
    RECOVERY = "recovery"
    CLOCK = "clock"


@dataclass(frozen=True, slots=True)
class Case:
    """One trial with a known impairment or a known error of the clients' clock."""

    part: Part
    code: str
    """Its description is `row.<code>` of the catalogue."""
    transport: str
    impairment: Impairment = field(default_factory=Impairment)
    client_clock: SimulatedClock = TRUE_CLOCK
    step_in_trial: bool = False
    """True if the clients' clock steps in the middle of the trial."""
    channel_delay_us: int = 0
    """Delay of each answer in the proxy of the clock's channel, which makes the way back slower than the way there."""


def cases(*, quick: bool, notifications: int) -> list[Case]:
    """Return all cases, grouped by transport; `quick` leaves out those that show nearly the same as another."""
    found: list[Case] = []
    for transport in TRANSPORTS:
        found += _delays(transport, (10, 50) if quick else (1, 10, 50, 200))
        found += _jitters(transport, notifications, (10,) if quick else (3, 15))
        found += [_counts(transport, notifications), _cut(transport, notifications)]
        found += _clocks(transport, quick=quick)
    return found


def _delays(transport: str, delays_ms: Sequence[int]) -> list[Case]:
    near = Case(Part.DELAY, "near", transport)
    return [
        near,
        *(Case(Part.DELAY, "held", transport, Impairment(delay_us=delay_ms * _MS)) for delay_ms in delays_ms),
    ]


def _jitters(transport: str, notifications: int, widths_ms: Sequence[int]) -> list[Case]:
    """Delay each notification by a random time between 0 and the width."""
    found = []
    for width_ms in widths_ms:
        dice = random.Random(f"siar jitter {transport} {width_ms}")
        width_us = min(width_ms * _MS, SWAP_DELAYS_US_MAX)
        delays = tuple(dice.randrange(width_us) for _ in range(WARMUP + notifications))
        found.append(Case(Part.JITTER, "jitter", transport, Impairment(delays_us=delays)))
    return found


def _counts(transport: str, notifications: int) -> Case:
    """Lose a tenth, repeat a twentieth, and swap a twentieth with their successors."""
    dice = random.Random(f"siar counts {transport}")
    # Only every second number, so that a swapped notification's successor is neither swapped nor lost.
    numbers = list(range(WARMUP, WARMUP + notifications - 1, 2))
    dice.shuffle(numbers)
    lost, others = notifications // 10, notifications // 20
    return Case(
        Part.COUNT,
        "counts",
        transport,
        Impairment(
            dropped=frozenset(numbers[:lost]),
            repeated=frozenset(numbers[lost : lost + others]),
            swapped=frozenset(numbers[lost + others : lost + 2 * others]),
        ),
    )


def _cut(transport: str, notifications: int) -> Case:
    """Break all connections in mid-trial, and delay every new one for 300 ms."""
    return Case(
        Part.RECOVERY, "cut", transport, Impairment(cut_at=WARMUP + notifications // 2, outage_us=300 * _MS)
    )


def _clocks(transport: str, *, quick: bool) -> list[Case]:
    fast = Case(
        Part.CLOCK, "skewed", transport, client_clock=SimulatedClock(offset_us=_HOUR_US, skew_ppm=120.0)
    )
    slow = Case(
        Part.CLOCK, "skewed", transport, client_clock=SimulatedClock(offset_us=-24 * _HOUR_US, skew_ppm=-80.0)
    )
    slower_back = Case(
        Part.CLOCK,
        "asymmetric",
        transport,
        client_clock=SimulatedClock(offset_us=250.0 * _MS),
        channel_delay_us=4 * _MS,
    )
    step = Case(
        Part.CLOCK, "step", transport, client_clock=SimulatedClock(step_us=30.0 * _MS), step_in_trial=True
    )
    return [fast, step] if quick else [fast, slow, slower_back, step]
