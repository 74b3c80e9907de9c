"""Shape of an arm's delay distribution: its tail, its clients, and the order of writing.

    nines     delay at 50, 90, 99, 99.9 ... percent of the samples and in between; each nine leaves a tenth of the rest
    boxes     quartiles and extremes of each client's samples
    places    the order of writing, trial by trial (`metrics/positions.py`)

The samples of the trials that count are pooled, so the figures are descriptive. A tail ends where too few broadcasts lie
beyond it (`trial_metrics.is_supported`), so that one bad moment shared by all clients does not make a tail.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.lab.analysis.analyse import Analysis
from app.lab.analysis.cached import computed_once
from app.lab.analysis.columns import Columns, Floats, columns_of
from app.lab.analysis.groups import Groups
from app.lab.analysis.metrics.positions import PositionFigures, position_figures
from app.lab.analysis.metrics.trial_metrics import is_supported
from app.lab.analysis.statistics.quantile import quantile_of_ascending
from app.lab.analysis.summary import SummaryRow

STEPS_PER_NINE = 10
"""Points from one nine to the next; a drawing of a few hundred pixels shows no more."""

NINES_MAX = 5

HALF = math.log10(2)
"""The median on the scale of nines."""


@dataclass(frozen=True, slots=True)
class Nine:
    """A point of the tail: the delay that a share of the samples does not exceed."""

    nines: float
    """The share as -log10(1 - share): 0 is 0 %, 1 is 90 %, 2 is 99 %."""
    delay_ms: float


@dataclass(frozen=True, slots=True)
class ClientBox:
    """Quartiles and extremes of one client's samples."""

    client: int
    """Counted from 0."""
    samples: int
    low_ms: float
    q1_ms: float
    middle_ms: float
    q3_ms: float
    high_ms: float


def share_of(nines: float) -> float:
    """Return the share of a number of nines; one nine is 0.9."""
    return float(1.0 - 10.0**-nines)


@computed_once
def tails(analysis: Analysis) -> tuple[tuple[Nine, ...], ...]:
    """Return the tail of each row of the summary, as far as its broadcasts support it; empty without samples."""
    return tuple(_tail(_trials(analysis, row), row.broadcasts) for row in analysis.summary)


@computed_once
def boxes(analysis: Analysis) -> tuple[tuple[ClientBox, ...], ...]:
    """Return the boxes of each row of the summary: one for each client with samples, by client."""
    return tuple(_boxes(_trials(analysis, row)) for row in analysis.summary)


@computed_once
def places(analysis: Analysis) -> tuple[tuple[PositionFigures, ...], ...]:
    """Return the order of writing in each recorded trial of each row of the summary."""
    return tuple(
        tuple(
            found
            for each in analysis.counted_trials(row.arm, row.clients)
            if (found := position_figures(each.record)) is not None
        )
        for row in analysis.summary
    )


def _tail(trials: Sequence[Columns], broadcasts: int) -> tuple[Nine, ...]:
    if not trials:
        return ()
    ascending: Floats = np.sort(np.concatenate([each.delay_ms[each.is_sample] for each in trials]))
    steps = sorted({HALF, *(step / STEPS_PER_NINE for step in range(NINES_MAX * STEPS_PER_NINE + 1))})
    found = (
        (step, quantile_of_ascending(ascending, share_of(step)))
        for step in steps
        if is_supported(share_of(step), broadcasts=broadcasts)
    )
    return tuple(Nine(step, delay_ms) for step, delay_ms in found if delay_ms is not None)


def _boxes(trials: Sequence[Columns]) -> tuple[ClientBox, ...]:
    if not trials:
        return ()
    delays_ms: Floats = np.concatenate([each.delay_ms[each.is_sample] for each in trials])
    groups = Groups.by(np.concatenate([each.client[each.is_sample] for each in trials]))
    ascending = groups.sorted(delays_ms)
    five = [groups.quantiles(ascending, share) for share in (0.0, 0.25, 0.5, 0.75, 1.0)]
    return tuple(
        ClientBox(client, samples, *values)
        for client, samples, *values in zip(groups.keys.tolist(), groups.counts.tolist(), *five, strict=True)
    )


def _trials(analysis: Analysis, row: SummaryRow) -> list[Columns]:
    """Return the deliveries of the trials from which a row of the summary was computed."""
    return [columns_of(each.record.deliveries) for each in analysis.counted_trials(row.arm, row.clients)]
