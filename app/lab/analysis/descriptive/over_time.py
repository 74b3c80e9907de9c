"""Delay over the course of a trial: what a run of a million points looks like, thinned so that no extreme is lost.

    stretches   a trial, from its first to its last measured due time, is cut into so many parts of equal length
    in each     the lowest, the median and the highest delay of all samples that were due in it, trials and clients pooled

The highest of all stretches is the highest of all samples, and likewise the lowest. It describes and proves nothing: a slow
start, a drift or a regular stall shows here, and in no single number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.lab.analysis.analyse import Analysis
from app.lab.analysis.columns import Columns, Floats, columns_of
from app.lab.analysis.groups import Groups
from app.lab.analysis.summary import SummaryRow

STRETCHES_MAX = 40
"""As many as a figure of some hundred pixels can show apart."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of the trials' course."""

    from_s: float
    """Since the first measured notification was due."""
    to_s: float
    samples: int
    low_ms: float
    middle_ms: float
    high_ms: float


def over_time(analysis: Analysis, row: SummaryRow, *, stretches: int = STRETCHES_MAX) -> tuple[Stretch, ...]:
    """The stretches of one arm at one count of clients that have samples, in order; at most one for each notification."""
    trials = [columns_of(each.record.deliveries) for each in analysis.counting(row.arm, row.clients)]
    return stretches_of(trials, min(stretches, analysis.run.plan.notifications))


def stretches_of(trials: Sequence[Columns], count: int) -> tuple[Stretch, ...]:
    """The stretches of several trials together."""
    since_us = [_since_first_due_us(each) for each in trials]
    length_us = max((float(np.max(own)) for own in since_us if len(own)), default=0.0)
    if not any(map(len, since_us)):
        return ()
    moments_us = np.concatenate(since_us)
    delays_ms = np.concatenate([each.delay_ms[each.is_sample] for each in trials])
    # The last moment belongs to the last stretch.
    number = np.minimum((moments_us * count / (length_us or 1.0)).astype(np.int64), count - 1)
    groups = Groups.by(number)
    ascending = groups.sorted(delays_ms)
    part_s = length_us / 1e6 / count
    return tuple(
        Stretch(
            from_s=place * part_s,
            to_s=(place + 1) * part_s,
            samples=samples,
            low_ms=float(ascending[start]),
            middle_ms=middle_ms,
            high_ms=float(ascending[start + samples - 1]),
        )
        for place, start, samples, middle_ms in zip(
            groups.keys.tolist(),
            groups.starts.tolist(),
            groups.counts.tolist(),
            groups.quantiles(ascending, 0.5),
            strict=True,
        )
    )


def _since_first_due_us(columns: Columns) -> Floats:
    """When each sample's notification was due, from the first measured one on."""
    measured_us = columns.due_us[~columns.warmup]
    if not len(measured_us):
        return np.empty(0)
    since_us: Floats = (columns.due_us[columns.is_sample] - np.min(measured_us)).astype(np.float64)
    return since_us
