"""Several runs against the first: the same figures of each arm, and what got worse.

Runs are made at different times, so their blocks have no partner: an arm's trial figures of one run are set against those
of the other as two groups (`rank_sum.py`), with exact intervals and Holm's procedure over everything that is compared.
Whatever else changed between the runs is part of the difference; `comparable.py` says what is known of that.

Beside each arm, the paired difference between arms is compared too (b - a of each block): a day that was slower for all
does not touch it.
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
from app.lab.analysis.statistics.quantile import median
from app.lab.analysis.statistics.rank_sum import rank_sum_interval, rank_sum_p, shift

METRICS = ("delay_ms_p50", "cpu_per_delivery_us", "jitter_ms")
"""Less is better in all of them."""


class Change(StrEnum):
    """What the Holm-adjusted interval of the shift from the first run says."""

    WORSE = "worse"
    BETTER = "better"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class AcrossRow:
    """One figure of one arm (or of the difference between two), one count of clients, one run against the first."""

    metric: str
    arm: Arm
    less: Arm | None
    """The arm that is subtracted, block by block; `None` for the figure of `arm` itself."""
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
    """Of equivalence, from the first run's plan and both runs' clocks; `None` for differences between arms."""
    equivalent: bool
    effect: EffectSize | None
    change: Change


@dataclass(frozen=True, slots=True)
class _Groups:
    """What one row compares."""

    metric: str
    arm: Arm
    less: Arm | None
    clients: int
    run: str
    base_values: list[float]
    values: list[float]
    clock_bound_ms: float | None
    """The wider of both runs': their clocks have nothing in common that would cancel."""


def across(analyses: Sequence[Analysis]) -> tuple[AcrossRow, ...]:
    """Every figure that the first run shares with another; by run, then as the first run orders its arms."""
    base = analyses[0]
    found = list(_groups(analyses))
    steps = holm([rank_sum_p(each.base_values, each.values) for each in found], alpha=1 - LEVEL)
    return tuple(_row(base.run.plan, each, step) for each, step in zip(found, steps, strict=True))


def regressions(rows: Sequence[AcrossRow]) -> tuple[AcrossRow, ...]:
    """What got worse by more than is too little to matter: arms' own figures, not differences between them."""
    return tuple(
        each for each in rows if each.change is Change.WORSE and each.less is None and not each.equivalent
    )


def _groups(analyses: Sequence[Analysis]) -> Iterator[_Groups]:
    base = analyses[0]
    for other in analyses[1:]:
        for metric in METRICS:
            for arm, less in _subjects(base):
                for clients in sorted(base.run.plan.client_counts):
                    a, b = (_values(each, metric, arm, less, clients) for each in (base, other))
                    if a and b:
                        bounds_ms = [_clock_bound_ms(each, clients) for each in (base, other)]
                        widest_ms = max((each for each in bounds_ms if each is not None), default=None)
                        yield _Groups(metric, arm, less, clients, other.run.id, a, b, widest_ms)


def _row(plan: Plan, groups: _Groups, step: HolmStep) -> AcrossRow:
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
    same_within = rank_sum_interval(a, b, EQUIVALENCE_LEVEL)
    return AcrossRow(
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
        equivalent=limit is not None and same_within.is_within(limit),
        effect=effect_size(a, b),
        change=_change(holm_interval, estimate),
    )


def _clock_bound_ms(analysis: Analysis, clients: int) -> float | None:
    """Of the trials that count: a void one's, however wide, must not widen a margin and so hide what got worse."""
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
    """Each arm, then each difference from the first arm."""
    arms = base.run.plan.arms
    yield from ((arm, None) for arm in arms)
    yield from ((arm, arms[0]) for arm in arms[1:])


def _values(analysis: Analysis, metric: str, arm: Arm, less: Arm | None, clients: int) -> list[float]:
    """The figures of the trials that count, or of their blocks' differences."""
    own = _by_block(analysis, metric, arm, clients)
    if less is None:
        return list(own.values())
    first = _by_block(analysis, metric, less, clients)
    return [value - first[block] for block, value in own.items() if block in first]


def _by_block(analysis: Analysis, metric: str, arm: Arm, clients: int) -> dict[int, float]:
    found: dict[int, float] = {}
    for each in analysis.trials:
        spec = each.record.spec
        if not each.in_comparison or spec.clients != clients or not _is_like(spec.arm, arm):
            continue
        value = {
            "delay_ms_p50": each.metrics.delay_ms.p50,
            "cpu_per_delivery_us": each.cpu.per_delivery_us,
            "jitter_ms": each.metrics.jitter_ms,
        }[metric]
        if value is not None:
            found[spec.block] = value
    return found


def _is_like(one: Arm, other: Arm) -> bool:
    """The same thing measured, under the same name: arms of an A/A run are told apart by it."""
    return (one.name, one.transport, dict(one.factors)) == (other.name, other.transport, dict(other.factors))
