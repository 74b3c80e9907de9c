"""Figures of what phones posted outside an experiment: without blocks and randomised arms there is no verdict."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from app.core.delivery import Outcome, SampleState
from app.lab.analysis.metrics.trial_metrics import supported_quantile


@dataclass(frozen=True, slots=True)
class LiveRow:
    """The arrivals of one transport."""

    transport: str
    devices: int
    arrivals: int
    used: int
    """Arrivals whose delay may be used: state ok, first arrival, not replayed."""
    delay_ms_p50: float | None
    """Median delay from due time; all phones' arrivals are pooled, so that phones with more arrivals weigh more."""
    delay_ms_p95: float | None
    clock_bound_ms: float | None
    """The largest bound of any arrival used."""
    late: int
    replayed: int
    duplicates: int
    left_out: Mapping[str, int]
    """Arrivals on time that were not used, by their state."""


@dataclass(slots=True)
class _Transport:
    """The samples of one transport so far."""

    devices: set[str] = field(default_factory=set)
    outcomes: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    delays_ms: array[float] = field(default_factory=lambda: array("d"))
    broadcasts: set[object] = field(default_factory=set)
    bound_us_max: float | None = None

    def add(self, sample: Mapping[str, Any]) -> None:
        self.devices.add(sample["device"])
        self.outcomes[sample["outcome"]] += 1
        if _is_used(sample):
            self.delays_ms.append(
                (sample["received_client_us"] + sample["clock_offset_us"] - sample["due_us"]) / 1000
            )
            self.broadcasts.add(sample["id"])
            self.bound_us_max = max(sample["clock_bound_us"], self.bound_us_max or 0.0)
        elif sample["outcome"] == Outcome.ON_TIME:
            self.left_out[_reason(sample)] += 1


def live_rows(samples: Iterable[Mapping[str, Any]]) -> tuple[LiveRow, ...]:
    """Return one row per transport; a sample has the fields of `POST /api/deliveries` and its batch's `device`.

    Samples are consumed one by one and not stored, since there may be millions.
    """
    found: dict[str, _Transport] = {}
    for sample in samples:
        found.setdefault(sample["transport"], _Transport()).add(sample)
    return tuple(_row(transport, own) for transport, own in sorted(found.items(), reverse=True))


def _row(transport: str, found: _Transport) -> LiveRow:
    broadcasts = len(found.broadcasts)
    return LiveRow(
        transport=transport,
        devices=len(found.devices),
        arrivals=found.outcomes.total(),
        used=len(found.delays_ms),
        delay_ms_p50=supported_quantile(found.delays_ms, 0.5, broadcasts=broadcasts),
        delay_ms_p95=supported_quantile(found.delays_ms, 0.95, broadcasts=broadcasts),
        clock_bound_ms=None if found.bound_us_max is None else found.bound_us_max / 1000,
        late=found.outcomes[Outcome.LATE],
        replayed=found.outcomes[Outcome.REPLAYED],
        duplicates=found.outcomes[Outcome.DUPLICATE],
        left_out=dict(found.left_out),
    )


def _reason(sample: Mapping[str, Any]) -> str:
    """Return the state for which a sample is not used; one in state `ok` lacks the clock offset for a delay."""
    return str(SampleState.NO_CLOCK if sample["state"] == SampleState.OK else sample["state"])


def _is_used(sample: Mapping[str, Any]) -> bool:
    return (
        sample["state"] == SampleState.OK
        and sample["outcome"] in (Outcome.ON_TIME, Outcome.LATE)
        and sample["clock_offset_us"] is not None
        and sample["clock_bound_us"] is not None
    )
