"""The figures that a trial is judged by."""

from __future__ import annotations

from dataclasses import dataclass

from app.core.plan.scenario import Plan
from app.core.trial import TrialRecord
from app.lab.analysis.metrics.split import Split, split
from app.lab.analysis.metrics.trial_metrics import TrialMetrics, measure


@dataclass(frozen=True, slots=True)
class TrialFigures:
    """What a trial (not an idle window) is judged by, and the report shows: computed once for both."""

    metrics: TrialMetrics
    split: Split | None


def figures_of(record: TrialRecord, plan: Plan) -> TrialFigures:
    """The figures of a trial."""
    return TrialFigures(measure(record, plan), split(record))
