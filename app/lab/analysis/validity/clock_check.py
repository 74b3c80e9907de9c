"""Phones' clocks read once more: the offsets that they posted, against the probes that they posted with them.

A phone reads its clock when a trial is over. Here all probes of the run are in, on both sides of each arrival, and the
reading is ours. Each of the two holds the true offset within a hard bound (measurement.md, section 1), so they differ by
both bounds together at most; where they differ by more, one of them is wrong.
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

LIFE_JUMP_US = 1_000_000.0
"""A clock that is off by another second is another one: of a page that was loaded anew, or a phone that had slept."""


@dataclass(frozen=True, slots=True)
class ClockCheck:
    """What came of it."""

    contradicted: tuple[str, ...]
    """Notifications' ids, each with its device, whose posted offset cannot be true together with the probes."""
    unknown: int
    """Offsets of which the posted probes say nothing: there are none near enough."""
    posted_bounds_us: Sequence[float]
    again_bounds_us: Sequence[float]
    """Of each offset that was read again, in the same order: plain doubles, since there may be millions."""

    @property
    def count(self) -> int:
        """Offsets that were read again."""
        return len(self.again_bounds_us)

    @property
    def bound_us_p50(self) -> tuple[float, float]:
        """The median bound as posted, and as read again. Only where something was read again."""
        return median(self.posted_bounds_us), median(self.again_bounds_us)


@dataclass(frozen=True, slots=True)
class _Life:
    """One clock of a device, and the server's time in which it was asked."""

    sync: ClockSync
    first_us: float
    last_us: float

    def distance_us(self, server_us: float) -> float:
        """From a moment to when this clock was in use."""
        return max(self.first_us - server_us, server_us - self.last_us, 0.0)


def check_clocks(samples: Iterable[Mapping[str, Any]], probes: Iterable[StampedProbe]) -> ClockCheck:
    """Read the clock of every posted arrival that has an offset; those of devices without probes are `unknown`."""
    lives = {device: [_life(each) for each in found] for device, found in _by_device(probes)}
    contradicted: list[str] = []
    posted_us, again_us = array("d"), array("d")
    unknown = 0
    for sample in samples:
        offset_us, bound_us = sample["clock_offset_us"], sample["clock_bound_us"]
        if offset_us is None or bound_us is None:
            continue
        near = min(lives.get(sample["device"], ()), key=_distance(sample["due_us"]), default=None)
        again = near.sync.read(sample["received_client_us"]) if near else None
        if again is None or again.offset_us is None or again.bound_us is None:
            unknown += 1
            continue
        posted_us.append(bound_us)
        again_us.append(again.bound_us)
        if abs(again.offset_us - offset_us) > again.bound_us + bound_us:
            contradicted.append(f"{sample['id']} of {sample['device']}")
    return ClockCheck(tuple(contradicted), unknown, posted_us, again_us)


def _distance(server_us: float) -> Any:
    return lambda life: life.distance_us(server_us)


def _by_device(probes: Iterable[StampedProbe]) -> Iterator[tuple[str, list[list[StampedProbe]]]]:
    """The probes of each device, those of each of its clocks by themselves."""
    found: dict[str, list[StampedProbe]] = {}
    for each in probes:
        found.setdefault(each.client, []).append(each)
    for device, own in found.items():
        starts = [0, *(index for index, pair in enumerate(pairwise(own), start=1) if _jumps(*pair)), len(own)]
        yield device, [own[first:end] for first, end in pairwise(starts)]


def _jumps(one: StampedProbe, other: StampedProbe) -> bool:
    return abs((other.probe.t2_us - other.probe.t1_us) - (one.probe.t2_us - one.probe.t1_us)) > LIFE_JUMP_US


def _life(probes: Sequence[StampedProbe]) -> _Life:
    sync = ClockSync()
    for each in probes:
        sync.add(each.probe, timebase=each.timebase)
    return _Life(sync, probes[0].probe.t2_us, probes[-1].probe.t3_us)
