"""Comparison of runs against the first one: the shift of each arm's figures, and regressions.

Runs are made at different times, so their blocks have no partner. The trial figures of an arm in two runs are compared as
independent groups (`statistics/rank_sum.py`), with exact intervals and a Holm adjustment over all comparisons. Whatever
else changed between the runs is part of the difference; `comparable.py` lists what is known of that.

The paired difference between arms (b - a of each block) is compared as well, since a day that was slower for all arms
does not affect it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from app.core.plan.scenario import Arm, Plan
from app.lab.analysis.analyse import Analysis
from app.lab.analysis.comparison.compare_arms import EQUIVALENCE_LEVEL, LEVEL
from app.lab.analysis.comparison.margins import clock_bound_of, margin
from app.lab.analysis.statistics.effect_size import EffectSize, effect_size
from app.lab.analysis.statistics.holm import HolmStep, holm
from app.lab.analysis.statistics.interval import Interval
from app.lab.analysis.statistics.quantile import known, median
from app.lab.analysis.statistics.rank_sum import rank_sum_interval, rank_sum_p, shift

METRICS = ("delay_ms_p50", "cpu_per_delivery_us", "jitter_ms")
"""Metrics that are compared; less is better in all of them."""


class Change(StrEnum):
    """The verdict of the Holm-adjusted interval of the shift from the first run."""

    WORSE = "worse"
    BETTER = "better"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class RunShift:
    """One metric of one arm, or of the difference between two, at one count of clients: a run against the first."""

    metric: str
    arm: Arm
    less: Arm | None
    """The arm that is subtracted, block by block; `None` for the metric of `arm` itself."""
    clients: int
    run: str
    base_trials: int
    trials: int
    base_median: float
    median: float
    estimate: float
    """Shift of this run from the first, in the metric's unit."""
    interval: Interval
    holm_interval: Interval
    p: float
    p_holm: float
    margin: float | None
    """The equivalence margin, by the first run's plan and both runs' clocks; `None` for differences between arms."""
    equivalent: bool
    effect: EffectSize | None
    change: Change


@dataclass(frozen=True, slots=True)
class _TwoGroups:
    """The two groups of values that one row compares."""

    metric: str
    arm: Arm
    less: Arm | None
    clients: int
    run: str
    base_values: list[float]
    values: list[float]
    clock_bound_ms: float | None
    """The wider bound of both runs, since no common part of their clock errors cancels."""


def compare_runs(analyses: Sequence[Analysis]) -> tuple[RunShift, ...]:
    """Compare every figure that the first run shares with another: by run, then in the first run's order of arms."""
    base = analyses[0]
    found = list(_groups(analyses))
    steps = holm([rank_sum_p(each.base_values, each.values) for each in found], alpha=1 - LEVEL)
    return tuple(_row(base.run.plan, each, step) for each, step in zip(found, steps, strict=True))


def regressions(rows: Sequence[RunShift]) -> tuple[RunShift, ...]:
    """Return the arms' own figures that got worse and are not equivalent, without differences between arms."""
    return tuple(
        each for each in rows if each.change is Change.WORSE and each.less is None and not each.equivalent
    )


def _groups(analyses: Sequence[Analysis]) -> Iterator[_TwoGroups]:
    base = analyses[0]
    for other in analyses[1:]:
        for metric in METRICS:
            for arm, less in _subjects(base):
                for clients in sorted(base.run.plan.client_counts):
                    a, b = (trial_figures(each, metric, arm, less, clients) for each in (base, other))
                    if a and b:
                        bounds_ms = [_clock_bound_ms(each, clients) for each in (base, other)]
                        widest_ms = max(known(bounds_ms), default=None)
                        yield _TwoGroups(metric, arm, less, clients, other.run.id, a, b, widest_ms)


def _row(plan: Plan, groups: _TwoGroups, step: HolmStep) -> RunShift:
    a, b = groups.base_values, groups.values
    holm_interval = rank_sum_interval(a, b, step.level)
    base_median, estimate = median(a), shift(a, b)
    assert base_median is not None
    assert estimate is not None
    limit = (
        margin(groups.metric, plan, a_median=base_median, clock_bound_ms=groups.clock_bound_ms)
        if groups.less is None
        else None
    )
    equivalence_interval = rank_sum_interval(a, b, EQUIVALENCE_LEVEL)
    return RunShift(
        metric=groups.metric,
        arm=groups.arm,
        less=groups.less,
        clients=groups.clients,
        run=groups.run,
        base_trials=len(a),
        trials=len(b),
        base_median=base_median,
        median=median(b) or 0.0,
        estimate=estimate,
        interval=rank_sum_interval(a, b, LEVEL),
        holm_interval=holm_interval,
        p=rank_sum_p(a, b),
        p_holm=step.adjusted_p,
        margin=limit,
        equivalent=limit is not None and equivalence_interval.is_within(limit),
        effect=effect_size(a, b),
        change=_change(holm_interval, estimate),
    )


def _clock_bound_ms(analysis: Analysis, clients: int) -> float | None:
    """Return the clock bound of the trials in the comparison.

    Invalid trials are left out, because their wide bounds would widen the margin and hide a regression.
    """
    by_block: dict[int, list[float]] = {}
    for each in analysis.trials:
        spec, bound_ms = each.record.spec, each.metrics.clock_bound_ms
        if each.in_comparison and spec.clients == clients and bound_ms is not None:
            by_block.setdefault(spec.block, []).append(bound_ms)
    return clock_bound_of(map(max, by_block.values()))


def _change(interval: Interval, estimate: float) -> Change:
    if not interval.excludes(0.0):
        return Change.UNDECIDED
    return Change.WORSE if estimate > 0 else Change.BETTER


def _subjects(base: Analysis) -> Iterator[tuple[Arm, Arm | None]]:
    """Yield each arm, then each arm with the first one to subtract."""
    arms = base.run.plan.arms
    yield from ((arm, None) for arm in arms)
    yield from ((arm, arms[0]) for arm in arms[1:])


def trial_figures(analysis: Analysis, metric: str, arm: Arm, less: Arm | None, clients: int) -> list[float]:
    """Return the figures of the trials in the comparison, or the differences of their blocks."""
    own = _by_block(analysis, metric, arm, clients)
    if less is None:
        return list(own.values())
    first = _by_block(analysis, metric, less, clients)
    return [value - first[block] for block, value in own.items() if block in first]


def _by_block(analysis: Analysis, metric: str, arm: Arm, clients: int) -> dict[int, float]:
    found: dict[int, float] = {}
    for each in analysis.trials:
        spec = each.record.spec
        if not each.in_comparison or spec.clients != clients or not is_like(spec.arm, arm):
            continue
        value = {
            "delay_ms_p50": each.metrics.delay_ms.p50,
            "cpu_per_delivery_us": each.cpu.per_delivery_us,
            "jitter_ms": each.metrics.jitter_ms,
        }[metric]
        if value is not None:
            found[spec.block] = value
    return found


def is_like(one: Arm, other: Arm) -> bool:
    """Return True for arms with equal name, transport and factors; the name distinguishes the arms of an A/A run."""
    return (one.name, one.transport, dict(one.factors)) == (other.name, other.transport, dict(other.factors))
