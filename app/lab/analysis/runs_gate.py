"""The gate on a comparison of runs: missed if a figure got worse, not judged if one could not have been found worse.

A figure is judged if both runs have enough trials in the comparison for it: groups of those sizes that do not overlap
must give a p below the strictest limit of Holm's procedure. Only figures that both runs' plans ask for and at least one
run has are expected; runs without any such figure are not judged either.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.core.gate_verdict import GateVerdict
from app.core.plan.scenario import Arm
from app.lab.analysis.analyse import Analysis
from app.lab.analysis.compare_runs import METRICS, RunShift, is_like, regressions, trial_figures
from app.lab.analysis.comparison.compare_arms import LEVEL
from app.lab.analysis.statistics.rank_sum import smallest_p


@dataclass(frozen=True, slots=True)
class Figure:
    """One metric of one arm at one count of clients, in a later run."""

    run: str
    metric: str
    arm: Arm
    clients: int


@dataclass(frozen=True, slots=True)
class RunsGate:
    """The outcome of the gate."""

    verdict: GateVerdict
    expected: tuple[Figure, ...]
    unjudged: tuple[Figure, ...]
    """Those of the expected figures that could not have been found worse."""
    worse: int
    """Number of regressions."""


def runs_gate(analyses: Sequence[Analysis], rows: Sequence[RunShift]) -> RunsGate:
    """Return the outcome. `rows`: the runs' comparison."""
    limit = (1 - LEVEL) / max(1, len(rows))
    expected: list[Figure] = []
    unjudged: list[Figure] = []
    is_missing = False
    for other in analyses[1:]:
        found = list(_figures(analyses[0], other, limit))
        is_missing = is_missing or not found
        expected += [figure for figure, _ in found]
        unjudged += [figure for figure, is_judged in found if not is_judged]
    worse = len(regressions(rows))
    if worse:
        verdict = GateVerdict.MISSED
    else:
        verdict = GateVerdict.NOT_JUDGED if unjudged or is_missing else GateVerdict.HELD
    return RunsGate(verdict, tuple(expected), tuple(unjudged), worse)


def _figures(base: Analysis, other: Analysis, limit: float) -> Iterator[tuple[Figure, bool]]:
    """Yield each expected figure of a later run, and whether a p of at most `limit` was possible for it."""
    counts = sorted(set(base.run.plan.client_counts) & set(other.run.plan.client_counts))
    arms = [arm for arm in base.run.plan.arms if any(is_like(each, arm) for each in other.run.plan.arms)]
    for metric in METRICS:
        for arm in arms:
            for clients in counts:
                sizes = [len(trial_figures(each, metric, arm, None, clients)) for each in (base, other)]
                if any(sizes):
                    yield Figure(other.run.id, metric, arm, clients), smallest_p(*sizes) <= limit
