"""The three lanes of a trial under load, as histograms that merge without loss: kernel, handler, and the difference.

kernel     from when a notification was due to the kernel's receive stamp: the truth, and what gates mean
           (an arrival without a stamp of its own is in no percentile of it: it would have to count from the read)
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
    unstamped: Histogram = field(default_factory=Histogram)
    """Arrivals without a kernel stamp of their own, as they were read: no lane, and missing in `kernel` and `own`. In a run of
    before these are in `kernel`, and none is here."""

    @property
    def arrivals(self) -> int:
        """All that have a delay, with a stamp of their own or without."""
        return self.kernel.count + self.unstamped.count

    @property
    def unstamped_share(self) -> float | None:
        """How many of them have none; `None` of nothing."""
        return self.unstamped.count / self.arrivals if self.arrivals else None

    @property
    def max_us(self) -> int:
        """The longest delay. One by the read can only be too long, and what was very late is not to be hidden."""
        return max(self.kernel.max_us, self.unstamped.max_us)

    @property
    def spikes(self) -> int:
        """How many came later than `SPIKE_US`, likewise."""
        return self.kernel.count_above(SPIKE_US) + self.unstamped.count_above(SPIKE_US)

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "kernel": self.kernel.to_json(),
            "handler": self.handler.to_json(),
            "self": self.own.to_json(),
            "unstamped": self.unstamped.to_json(),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Lanes:
        """What `to_json` wrote."""
        kernel, handler, own = (Histogram.from_json(value[name]) for name in ("kernel", "handler", "self"))
        unstamped = value.get("unstamped")
        return cls(kernel, handler, own, Histogram() if unstamped is None else Histogram.from_json(unstamped))


def lanes_of(deliveries: Iterable[Delivery], self_us: Mapping[tuple[int, int], float]) -> Lanes:
    """The lanes of a trial's samples.

    A sample is a first arrival with a known clock, late ones included; what was replayed after a loss is none.
    """
    lanes = Lanes()
    for each in deliveries:
        if each.warmup or each.state is not SampleState.OK:
            continue
        if each.outcome not in (Outcome.ON_TIME, Outcome.LATE) or each.received_us is None:
            continue
        if each.kernel_received_us is None:
            delay_us = each.received_us - each.due_us
            lanes.unstamped.add(delay_us)
            lanes.handler.add(delay_us)
            continue
        delay_us = each.kernel_received_us - each.due_us
        added_us = self_us.get((each.client, each.seq))
        lanes.kernel.add(delay_us)
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
        merged([each.unstamped for each in lanes]),
    )
