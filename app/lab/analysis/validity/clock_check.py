"""Check of the clock offsets that phones posted, against offsets computed again from their probes.

A phone computes offsets when a trial is over. This check uses all probes of the run, on both sides of each arrival. Each
of the two offsets has a hard bound (measurement.md, section 1), so they differ by the sum of both bounds at most. Where
they differ by more, one of them is wrong.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any

from app.core.clocksync.sync import ClockSync
from app.store.store import StampedProbe

CLOCK_JUMP_US = 1_000_000.0
"""Jump of the offset from which on it is another clock: that of a reloaded page, or of a phone that had slept."""


@dataclass(frozen=True, slots=True)
class ClockCheck:
    """The outcome of the check."""

    contradicted: tuple[str, ...]
    """Notifications, each id with its device, whose posted offset contradicts the probes."""
    unknown: int
    """The number of offsets without a probe that is near enough."""
    posted_bounds_us: Sequence[float]
    """The posted bound of each offset that was computed again; an array of doubles, since there may be millions."""
    recomputed_bounds_us: Sequence[float]
    """The new bounds, in the same order."""

    @property
    def count(self) -> int:
        """Return the number of offsets that were computed again."""
        return len(self.recomputed_bounds_us)

    @property
    def bound_us_p50(self) -> tuple[float, float]:
        """Return the median bound as posted and as computed again; `count` must not be 0."""
        return median(self.posted_bounds_us), median(self.recomputed_bounds_us)


@dataclass(frozen=True, slots=True)
class _ClockPeriod:
    """One clock of a device, and the period of server time in which it was probed."""

    sync: ClockSync
    first_us: float
    last_us: float

    def distance_us(self, server_us: float) -> float:
        """Return the distance of a server time from the period in which this clock was probed; 0 within it."""
        return max(self.first_us - server_us, server_us - self.last_us, 0.0)


def check_clocks(samples: Iterable[Mapping[str, Any]], probes: Iterable[StampedProbe]) -> ClockCheck:
    """Compute the offset of every posted arrival again; offsets of devices without probes are `unknown`."""
    periods = {device: [_clock_period(each) for each in found] for device, found in _by_device(probes)}
    contradicted: list[str] = []
    posted_us, recomputed_us = array("d"), array("d")
    unknown = 0
    for sample in samples:
        offset_us, bound_us = sample["clock_offset_us"], sample["clock_bound_us"]
        if offset_us is None or bound_us is None:
            continue
        nearest = min(periods.get(sample["device"], ()), key=_distance(sample["due_us"]), default=None)
        recomputed = nearest.sync.read(sample["received_client_us"]) if nearest else None
        if recomputed is None or recomputed.offset_us is None or recomputed.bound_us is None:
            unknown += 1
            continue
        posted_us.append(bound_us)
        recomputed_us.append(recomputed.bound_us)
        if abs(recomputed.offset_us - offset_us) > recomputed.bound_us + bound_us:
            contradicted.append(f"{sample['id']} of {sample['device']}")
    return ClockCheck(tuple(contradicted), unknown, posted_us, recomputed_us)


def _distance(server_us: float) -> Any:
    return lambda period: period.distance_us(server_us)


def _by_device(probes: Iterable[StampedProbe]) -> Iterator[tuple[str, list[list[StampedProbe]]]]:
    """Yield each device with its probes, separated by clock."""
    found: dict[str, list[StampedProbe]] = {}
    for each in probes:
        found.setdefault(each.client, []).append(each)
    for device, own in found.items():
        starts = [0, *(index for index, pair in enumerate(pairwise(own), start=1) if _jumps(*pair)), len(own)]
        yield device, [own[first:end] for first, end in pairwise(starts)]


def _jumps(one: StampedProbe, other: StampedProbe) -> bool:
    return abs((other.probe.t2_us - other.probe.t1_us) - (one.probe.t2_us - one.probe.t1_us)) > CLOCK_JUMP_US


def _clock_period(probes: Sequence[StampedProbe]) -> _ClockPeriod:
    sync = ClockSync()
    for each in probes:
        sync.add(each.probe, timebase=each.timebase)
    return _ClockPeriod(sync, probes[0].probe.t2_us, probes[-1].probe.t3_us)
