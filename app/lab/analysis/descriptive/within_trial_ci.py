"""Confidence intervals of quantiles within each trial, for its middle client.

A trial's median is the median of its clients' medians, so the client with the middle median (the lower of two) represents
it. The interval is computed from thinned samples (`statistics/quantile_interval.py`) and holds for that client in that
trial. The variation between trials is not in it: that is what blocks show.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from app.core.trial import TrialRecord
from app.lab.analysis.analyse import Analysis
from app.lab.analysis.columns import columns_of
from app.lab.analysis.groups import Groups
from app.lab.analysis.statistics.quantile_interval import TrialQuantile, trial_quantile

SHARES = (0.5, 0.95)

SAMPLES_MIN = 10
"""Fewest samples of the client; fewer give no interval of any quantile."""


@dataclass(frozen=True, slots=True)
class WithinTrial:
    """The interval of one quantile of one trial's middle client."""

    trial: int
    client: int
    quantile: TrialQuantile


def within_trials(analysis: Analysis) -> tuple[WithinTrial, ...]:
    """Return the intervals of every trial that counts and has enough samples, in the order in which they ran."""
    return tuple(
        found for each in analysis.trials if each.in_comparison for found in _trial_quantiles(each.record)
    )


def _trial_quantiles(record: TrialRecord) -> Iterator[WithinTrial]:
    columns = columns_of(record.deliveries)
    samples = columns.samples()
    groups, delays_ms = Groups.by(columns.client[samples]), columns.delay_ms[samples]
    medians = groups.quantiles(groups.sorted(delays_ms), 0.5)
    middles = sorted(zip(medians, groups.keys.tolist(), strict=True))
    if not middles:
        return
    client = middles[(len(middles) - 1) // 2][1]
    own = delays_ms[columns.client[samples] == client].tolist()
    if len(own) >= SAMPLES_MIN:
        for share in SHARES:
            yield WithinTrial(record.spec.index, client, trial_quantile(own, share))
