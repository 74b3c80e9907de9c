"""Delays of a trial under load as three histograms, which merge without loss: kernel, application, generator.

kernel delay        from due time to the kernel's receive stamp: the true delay, which gates refer to
                    (an arrival without a stamp of its own is in no percentile of it, as it would count from the read)
application delay   from due time to the moment when the generator had read it: what a plain load tool reports
generator delay     application delay minus kernel delay: what the generator added

In JSON they are called `kernel`, `handler` and `self`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from app.core.delivery import Delivery, Outcome, SampleState
from app.core.histogram import Histogram, merged

SPIKE_US = 500_000
"""A longer delay is a spike: the VPS study's limit."""


@dataclass(frozen=True, slots=True)
class Delays:
    """Histograms of the measured arrivals of one or more trials."""

    kernel: Histogram = field(default_factory=Histogram)
    application: Histogram = field(default_factory=Histogram)
    generator: Histogram = field(default_factory=Histogram)
    """Generator delay."""
    unstamped: Histogram = field(default_factory=Histogram)
    """Arrivals without a kernel stamp of their own, by their read: they are missing in `kernel` and `generator`. Runs
    of older versions have them in `kernel` instead."""

    @property
    def arrivals(self) -> int:
        """Number of arrivals that have a delay, with a stamp of their own or without."""
        return self.kernel.count + self.unstamped.count

    @property
    def unstamped_share(self) -> float | None:
        """Share of arrivals without a kernel stamp; `None` if there are no arrivals."""
        return self.unstamped.count / self.arrivals if self.arrivals else None

    @property
    def max_us(self) -> int:
        """The longest delay.

        Delays by the read are included: they can only be too long, and must not hide a very late arrival.
        """
        return max(self.kernel.max_us, self.unstamped.max_us)

    @property
    def spikes(self) -> int:
        """Number of delays longer than `SPIKE_US`, including those by the read."""
        return self.kernel.count_above(SPIKE_US) + self.unstamped.count_above(SPIKE_US)

    def to_json(self) -> dict[str, Any]:
        """Return the histograms as a JSON object."""
        return {
            "kernel": self.kernel.to_json(),
            "handler": self.application.to_json(),
            "self": self.generator.to_json(),
            "unstamped": self.unstamped.to_json(),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Delays:
        """Return the value that `to_json` wrote."""
        kernel, application, generator = (
            Histogram.from_json(value[name]) for name in ("kernel", "handler", "self")
        )
        unstamped = value.get("unstamped")
        return cls(
            kernel,
            application,
            generator,
            Histogram() if unstamped is None else Histogram.from_json(unstamped),
        )


def delays_of(deliveries: Iterable[Delivery], generator_delays_us: Mapping[tuple[int, int], float]) -> Delays:
    """Return the delays of a trial.

    A sample is a first arrival with a known clock, including late ones; arrivals replayed after a loss are none.
    """
    delays = Delays()
    for each in deliveries:
        if each.warmup or each.state is not SampleState.OK:
            continue
        if each.outcome not in (Outcome.ON_TIME, Outcome.LATE) or each.received_us is None:
            continue
        if each.kernel_received_us is None:
            delay_us = each.received_us - each.due_us
            delays.unstamped.add(delay_us)
            delays.application.add(delay_us)
            continue
        delay_us = each.kernel_received_us - each.due_us
        added_us = generator_delays_us.get((each.client, each.seq))
        delays.kernel.add(delay_us)
        delays.application.add(delay_us + (added_us or 0.0))
        if added_us is not None:
            delays.generator.add(added_us)
    return delays


def merged_delays(several: Iterable[Delays]) -> Delays:
    """Merge the delays of several trials."""
    all_delays = list(several)
    return Delays(
        merged([each.kernel for each in all_delays]),
        merged([each.application for each in all_delays]),
        merged([each.generator for each in all_delays]),
        merged([each.unstamped for each in all_delays]),
    )
