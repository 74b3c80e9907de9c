"""What phones posted outside an experiment: no blocks, no arms in random order, and therefore no verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from app.analysis.metrics import supported_quantile
from app.core.delivery import Outcome, SampleState


@dataclass(frozen=True, slots=True)
class LiveRow:
    """The arrivals of one transport."""

    transport: str
    devices: int
    arrivals: int
    used: int
    """Those whose delay may be used: state ok, first arrival, not replayed."""
    delay_ms_p50: float | None
    """From when it was due; every phone's arrivals together, so that who posted more counts more."""
    delay_ms_p95: float | None
    clock_bound_ms: float | None
    """The largest bound of any arrival used."""
    late: int
    replayed: int
    duplicates: int
    left_out: Mapping[str, int]
    """Arrivals on time that were not used, by their state."""


def live_rows(samples: Iterable[Mapping[str, Any]]) -> tuple[LiveRow, ...]:
    """One row per transport; a sample has the fields of `POST /api/deliveries` and its batch's `device`."""
    by_transport: dict[str, list[Mapping[str, Any]]] = {}
    for sample in samples:
        by_transport.setdefault(sample["transport"], []).append(sample)
    return tuple(_row(transport, found) for transport, found in sorted(by_transport.items(), reverse=True))


def _row(transport: str, samples: list[Mapping[str, Any]]) -> LiveRow:
    outcomes = Counter(sample["outcome"] for sample in samples)
    used = [sample for sample in samples if _is_used(sample)]
    delays_ms = [
        (sample["received_client_us"] + sample["clock_offset_us"] - sample["due_us"]) / 1000
        for sample in used
    ]
    broadcasts = len({sample["id"] for sample in used})
    unused = (sample for sample in samples if sample["outcome"] == Outcome.ON_TIME and not _is_used(sample))
    return LiveRow(
        transport=transport,
        devices=len({sample["device"] for sample in samples}),
        arrivals=len(samples),
        used=len(used),
        delay_ms_p50=supported_quantile(delays_ms, 0.5, broadcasts=broadcasts),
        delay_ms_p95=supported_quantile(delays_ms, 0.95, broadcasts=broadcasts),
        clock_bound_ms=max((sample["clock_bound_us"] / 1000 for sample in used), default=None),
        late=outcomes[Outcome.LATE],
        replayed=outcomes[Outcome.REPLAYED],
        duplicates=outcomes[Outcome.DUPLICATE],
        left_out=dict(Counter(_why(sample) for sample in unused)),
    )


def _why(sample: Mapping[str, Any]) -> str:
    """The state that keeps a sample from being used; without an offset there is no delay, whatever it says."""
    return str(SampleState.NO_CLOCK if sample["state"] == SampleState.OK else sample["state"])


def _is_used(sample: Mapping[str, Any]) -> bool:
    return (
        sample["state"] == SampleState.OK
        and sample["outcome"] in (Outcome.ON_TIME, Outcome.LATE)
        and sample["clock_offset_us"] is not None
        and sample["clock_bound_us"] is not None
    )
