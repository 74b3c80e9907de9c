"""How well a trial knows its own quantiles: intervals inside trials, of the client in the middle.

A trial's median is the median of its clients' medians, so the client whose median is the middle one (the lower of two)
stands for it. The interval is of thinned samples (`quantile_interval.py`) and holds for that client in that trial; how
trials differ is what blocks are for.
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
"""Fewer have no interval of anything."""


@dataclass(frozen=True, slots=True)
class WithinTrial:
    """One quantile of one trial's middle client."""

    trial: int
    client: int
    quantile: TrialQuantile


def within_trials(analysis: Analysis) -> tuple[WithinTrial, ...]:
    """Every trial that counts and has enough samples, in the order in which they ran."""
    return tuple(found for each in analysis.trials if each.in_comparison for found in _of_trial(each.record))


def _of_trial(record: TrialRecord) -> Iterator[WithinTrial]:
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
