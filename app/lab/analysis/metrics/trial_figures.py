"""The figures from which a trial's warnings are derived."""

from __future__ import annotations

from dataclasses import dataclass

from app.core.plan.scenario import Plan
from app.core.trial import TrialRecord
from app.lab.analysis.metrics.split import Split, split
from app.lab.analysis.metrics.trial_metrics import TrialMetrics, measure


@dataclass(frozen=True, slots=True)
class TrialFigures:
    """Figures of a trial (not an idle window) that its checks and the report share."""

    metrics: TrialMetrics
    split: Split | None


def figures_of(record: TrialRecord, plan: Plan) -> TrialFigures:
    """Compute the figures of a trial."""
    return TrialFigures(measure(record, plan), split(record))
