"""Delay over the time of a trial, reduced to a few dozen stretches without losing an extreme.

    stretches   a trial, from its first to its last measured due time, is divided into parts of equal length
    in each     the lowest, the median and the highest delay of all samples due in it, trials and clients pooled

The highest of all stretches is the highest of all samples, and likewise the lowest. The stretches are descriptive: they
show a slow start, a drift or a regular stall, which no single number does.
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
"""Most stretches; a figure of a few hundred pixels cannot resolve more."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of the trials' time, with the delays of the samples due in it."""

    from_s: float
    """Start of the stretch, in seconds since the first measured due time."""
    to_s: float
    samples: int
    low_ms: float
    middle_ms: float
    high_ms: float


def over_time(analysis: Analysis, row: SummaryRow, *, stretches: int = STRETCHES_MAX) -> tuple[Stretch, ...]:
    """Return the stretches with samples of one arm at one count of clients, in order; at most one per notification."""
    trials = [columns_of(each.record.deliveries) for each in analysis.counted_trials(row.arm, row.clients)]
    return stretches_of(trials, min(stretches, analysis.run.plan.notifications))


def stretches_of(trials: Sequence[Columns], count: int) -> tuple[Stretch, ...]:
    """Return the stretches of several trials together."""
    since_us = [_since_first_due_us(each) for each in trials]
    length_us = max((float(np.max(own)) for own in since_us if len(own)), default=0.0)
    if not any(map(len, since_us)):
        return ()
    due_us = np.concatenate(since_us)
    delays_ms = np.concatenate([each.delay_ms[each.is_sample] for each in trials])
    # The end of the time belongs to the last stretch.
    number = np.minimum((due_us * count / (length_us or 1.0)).astype(np.int64), count - 1)
    groups = Groups.by(number)
    ascending = groups.sorted(delays_ms)
    part_s = length_us / 1e6 / count
    return tuple(
        Stretch(
            from_s=index * part_s,
            to_s=(index + 1) * part_s,
            samples=samples,
            low_ms=float(ascending[start]),
            middle_ms=middle_ms,
            high_ms=float(ascending[start + samples - 1]),
        )
        for index, start, samples, middle_ms in zip(
            groups.keys.tolist(),
            groups.starts.tolist(),
            groups.counts.tolist(),
            groups.quantiles(ascending, 0.5),
            strict=True,
        )
    )


def _since_first_due_us(columns: Columns) -> Floats:
    """Return each sample's due time, from the first measured due time on."""
    measured_us = columns.due_us[~columns.warmup]
    if not len(measured_us):
        return np.empty(0)
    since_us: Floats = (columns.due_us[columns.is_sample] - np.min(measured_us)).astype(np.float64)
    return since_us
