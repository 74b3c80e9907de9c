"""How well a trial knows its own quantiles: intervals inside trials, of the client in the middle.

A trial's median is the median of its clients' medians, so the client whose median is the middle one (the lower of two)
stands for it. The interval is of thinned samples (`quantile_interval.py`) and holds for that client in that trial; how
trials differ is what blocks are for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from app.analysis.analyse import Analysis
from app.analysis.metrics import by_client, delay_ms, is_sample
from app.analysis.quantile_interval import TrialQuantile, trial_quantile
from app.analysis.statistics import median
from app.core.trial import TrialRecord

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
    own = by_client([each for each in record.deliveries if is_sample(each)])
    delays = {client: [delay_ms(each) for each in found] for client, found in own.items()}
    middles = sorted((median(values) or 0.0, client) for client, values in delays.items())
    if not middles:
        return
    client = middles[(len(middles) - 1) // 2][1]
    if len(delays[client]) >= SAMPLES_MIN:
        for share in SHARES:
            yield WithinTrial(record.spec.index, client, trial_quantile(delays[client], share))
