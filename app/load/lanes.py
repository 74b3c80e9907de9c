"""The three lanes of a trial under load, as histograms that merge without loss: kernel, handler, and the difference.

kernel     from when a notification was due to the kernel's receive stamp: the truth, and what gates mean
handler    to the moment when the generator had read it: what a plain load tool would report
self       handler minus kernel: what the generator added
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from app.core.delivery import Delivery, Outcome, SampleState
from app.core.histogram import Histogram, merged

SPIKE_US = 500_000
"""A delay beyond it is a spike: the VPS study's limit."""


@dataclass(frozen=True, slots=True)
class Lanes:
    """What the measured arrivals of a trial, or of several, amount to."""

    kernel: Histogram = field(default_factory=Histogram)
    handler: Histogram = field(default_factory=Histogram)
    own: Histogram = field(default_factory=Histogram)
    """The lane `self`."""

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "kernel": self.kernel.to_json(),
            "handler": self.handler.to_json(),
            "self": self.own.to_json(),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Lanes:
        """What `to_json` wrote."""
        return cls(*(Histogram.from_json(value[name]) for name in ("kernel", "handler", "self")))


def lanes_of(deliveries: Iterable[Delivery], self_us: Mapping[tuple[int, int], float]) -> Lanes:
    """The lanes of a trial's samples.

    A sample is a first arrival with a known clock, late ones included; what was replayed after a loss is none. One
    without a kernel stamp of its own counts from the read in both lanes, which can only be later.
    """
    lanes = Lanes()
    for each in deliveries:
        if each.warmup or each.state is not SampleState.OK:
            continue
        if each.outcome not in (Outcome.ON_TIME, Outcome.LATE) or each.received_us is None:
            continue
        received_us = each.received_us if each.kernel_received_us is None else each.kernel_received_us
        delay_us = received_us - each.due_us
        lanes.kernel.add(delay_us)
        added_us = self_us.get((each.client, each.seq))
        lanes.handler.add(delay_us + (added_us or 0.0))
        if added_us is not None:
            lanes.own.add(added_us)
    return lanes


def merged_lanes(several: Iterable[Lanes]) -> Lanes:
    """All of them in one."""
    lanes = list(several)
    return Lanes(
        merged([each.kernel for each in lanes]),
        merged([each.handler for each in lanes]),
        merged([each.own for each in lanes]),
    )
