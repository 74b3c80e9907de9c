"""Display delay: from a notification's stamp in the worker to its paint on the page, by one clock.

    display delay = displayed_client_us - received_client_us, in ms

It is the phone's own share and the same for every transport (`measurement.md` section 6: the paint is stamped in a task
after requestAnimationFrame; p50 is about 10 ms at 60 Hz). The published study includes it in its delays. Hidden pages
paint nothing: only arrivals on a visible page have a display delay, and the others are counted separately. Warm-up is
left out of both.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from app.core.delivery import Outcome, SampleState
from app.lab.analysis.metrics.trial_metrics import supported_quantile
from app.lab.analysis.statistics.quantile import median


@dataclass(frozen=True, slots=True)
class DisplayRow:
    """The display delays of one transport."""

    transport: str
    devices: int
    painted: int
    """First arrivals on a visible page with both stamps."""
    unpainted: int
    """First arrivals without them."""
    display_ms_p50: float | None
    """Median over devices of each device's median, so that each has equal weight."""
    display_ms_p95: float | None
    """p95 of all painted arrivals; needs 100 broadcasts."""


@dataclass(slots=True)
class _Transport:
    """The samples of one transport so far."""

    devices: set[str] = field(default_factory=set)
    broadcasts: set[object] = field(default_factory=set)
    """Ids of the notifications that any device painted."""
    painted_ms: dict[str, array[float]] = field(default_factory=dict)
    """Display delays by device."""
    unpainted: int = 0

    def add(self, sample: Mapping[str, Any]) -> None:
        self.devices.add(sample["device"])
        value = display_ms(sample)
        if value is None:
            self.unpainted += 1
        else:
            self.broadcasts.add(sample["id"])
            self.painted_ms.setdefault(sample["device"], array("d")).append(value)


def display_rows(samples: Iterable[Mapping[str, Any]]) -> tuple[DisplayRow, ...]:
    """Return one row per transport; a sample has the columns of `client_sample` and its batch's `device`.

    Samples are consumed one by one and not stored, since there may be millions.
    """
    found: dict[str, _Transport] = {}
    for sample in samples:
        if sample["outcome"] in (Outcome.ON_TIME, Outcome.LATE) and sample.get("state") != SampleState.WARMUP:
            found.setdefault(sample["transport"], _Transport()).add(sample)
    return tuple(_row(transport, own) for transport, own in sorted(found.items()))


def display_ms(sample: Mapping[str, Any]) -> float | None:
    """Return the display delay of one sample; `None` where it was not painted or not visible."""
    painted, received = sample.get("displayed_client_us"), sample.get("received_client_us")
    if painted is None or received is None or not sample.get("visible", True):
        return None
    return float(painted - received) / 1000


def _row(transport: str, found: _Transport) -> DisplayRow:
    painted_ms = [value for own in found.painted_ms.values() for value in own]
    return DisplayRow(
        transport=transport,
        devices=len(found.devices),
        painted=len(painted_ms),
        unpainted=found.unpainted,
        display_ms_p50=median(
            [value for own in found.painted_ms.values() if (value := median(own)) is not None]
        ),
        display_ms_p95=supported_quantile(painted_ms, 0.95, broadcasts=len(found.broadcasts)),
    )
