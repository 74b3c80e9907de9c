"""Comparison of arms, block by block: estimate, exact intervals, equivalence and one verdict for each pair.

The first arm is `a`; each other arm is `b`. A block counts if its idle window and the trials of all its arms are valid. The
unit of analysis is the block difference D = metric of b - metric of a, since blocks differ from each other. Each family of
comparisons has an error rate of 5 %, with Holm adjustment over its pairs and counts of clients:

    confirmatory   delay_ms_p50: the question that a run is for
    secondary      cpu_per_delivery_us, jitter_ms

The verdict comes from the interval at the Holm level; below 8 blocks there is none. `equivalent` is a separate result:
the exact 90 % interval lies within the equivalence margin (two one-sided tests at 5 %). A difference can be both
established and too small to matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import exp, log

from app.core.plan.scenario import Arm, Plan
from app.lab.analysis.comparison.margins import BLOCKS_MIN, clock_bound_of, margin, more_blocks
from app.lab.analysis.statistics.holm import HolmStep, holm
from app.lab.analysis.statistics.interval import Interval
from app.lab.analysis.statistics.quantile import median
from app.lab.analysis.statistics.signed_rank import (
    pseudo_median,
    sign_flip_p,
    signed_rank_interval,
    signed_rank_p,
)

FAMILIES = {
    "confirmatory": ("delay_ms_p50",),
    "secondary": ("cpu_per_delivery_us", "jitter_ms"),
}

LEVEL = 0.95
EQUIVALENCE_LEVEL = 0.90
ALPHA = 0.05

VALID_BLOCKS_MIN = 3
"""With fewer valid blocks, and invalid ones among the rest, the result for a count of clients is invalid."""


class Verdict(StrEnum):
    """The verdict of the Holm-adjusted interval of b - a."""

    LOWER_A = "lower_a"
    LOWER_B = "lower_b"
    UNDECIDED = "undecided"
    INVALID = "invalid"
    """Too many blocks of this count of clients are invalid."""


@dataclass(frozen=True, slots=True)
class Block:
    """A complete block with each arm's figures."""

    number: int
    clients: int
    valid: bool
    """True if the trials of all arms and the idle window are valid."""
    values: Mapping[str, Mapping[str, float | None]]
    """arm name -> metric -> value."""
    clock_bound_ms: float | None
    """The widest clock bound of its trials."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The comparison of one metric for one pair of arms at one count of clients."""

    metric: str
    family: str
    clients: int
    a: Arm
    b: Arm
    blocks_complete: int
    """The number of blocks that ran to their end, invalid ones included."""
    blocks_valid: int
    differences: tuple[tuple[int, float], ...]
    """(block, b - a) of each block that counts: the valid ones in which both arms have a value."""
    estimate: float | None
    """Pseudo-median (Hodges-Lehmann estimate) of b - a."""
    ratio: float | None
    """b over a: exp of the pseudo-median of the log differences; `None` unless all values are above 0."""
    interval: Interval
    """The exact 95 % signed-rank interval, which reports print."""
    holm_interval: Interval
    """The exact interval at the level of the Holm adjustment, which gives the verdict."""
    equivalence_interval: Interval
    """The exact 90 % interval, which decides on equivalence."""
    p_signed_rank: float
    """Two-sided p of the signed-rank test before adjustment."""
    p_sign_flip: float
    """Two-sided p of a second exact test, of the mean; for information."""
    p_holm: float
    """`p_signed_rank` after Holm adjustment."""
    margin: float | None
    """The equivalence margin in the metric's unit."""
    equivalent: bool
    verdict: Verdict
    more_blocks: int | None
    """About how many more blocks an undecided comparison needs; `None` for other verdicts."""

    @property
    def blocks(self) -> int:
        """Return the number of blocks that count."""
        return len(self.differences)


@dataclass(frozen=True, slots=True)
class _Pair:
    """The input of a comparison."""

    metric: str
    clients: int
    a: Arm
    b: Arm
    blocks: tuple[Block, ...]
    """Complete blocks with this count of clients, invalid ones included."""

    @property
    def differences(self) -> tuple[tuple[int, float], ...]:
        """Return (block, b - a) of each block that counts."""
        return tuple((each.number, b - a) for each, (a, b) in self._measured())

    @property
    def a_median(self) -> float | None:
        """Return the median of a over the blocks that count, on which the margin depends."""
        return median([a for _, (a, _) in self._measured()])

    @property
    def clock_bound_ms(self) -> float | None:
        """Return the clock's bound over the blocks that count, on which the margin depends."""
        return clock_bound_of(each.clock_bound_ms for each, _ in self._measured())

    def ratio(self) -> float | None:
        """Return b over a by the pseudo-median of the log differences; `None` unless all values are above 0."""
        values = [pair for _, pair in self._measured()]
        if not all(a > 0 and b > 0 for a, b in values):
            return None
        estimate = pseudo_median([log(b / a) for a, b in values])
        return None if estimate is None else exp(estimate)

    @property
    def blocks_valid(self) -> int:
        """Return the number of valid blocks, with or without values."""
        return sum(each.valid for each in self.blocks)

    def is_invalid(self, plan: Plan) -> bool:
        """Return True if too few blocks are valid because others are invalid; blocks that never ran do not matter."""
        wanted = max(VALID_BLOCKS_MIN, min(plan.blocks, len(self.blocks)) / 2)
        return self.blocks_valid < len(self.blocks) and self.blocks_valid < wanted

    def _measured(self) -> Iterator[tuple[Block, tuple[float, float]]]:
        for each in self.blocks:
            a, b = each.values[self.a.name][self.metric], each.values[self.b.name][self.metric]
            if each.valid and a is not None and b is not None:
                yield each, (a, b)


def compare(plan: Plan, blocks: Sequence[Block]) -> tuple[Comparison, ...]:
    """Return every comparison of the plan: confirmatory ones first, then by metric, pair and count of clients."""
    found: list[Comparison] = []
    for family, metrics in FAMILIES.items():
        pairs = [
            _Pair(metric, count, plan.arms[0], b, tuple(each for each in blocks if each.clients == count))
            for metric in metrics
            for b in plan.arms[1:]
            for count in sorted(plan.client_counts)
        ]
        steps = holm([signed_rank_p([d for _, d in pair.differences]) for pair in pairs], alpha=ALPHA)
        found += [_comparison(family, pair, step, plan) for pair, step in zip(pairs, steps, strict=True)]
    return tuple(found)


def _comparison(family: str, pair: _Pair, step: HolmStep, plan: Plan) -> Comparison:
    values = [difference for _, difference in pair.differences]
    estimate = pseudo_median(values)
    holm_interval = signed_rank_interval(values, step.level)
    equivalence_interval = signed_rank_interval(values, EQUIVALENCE_LEVEL)
    limit = margin(pair.metric, plan, a_median=pair.a_median, clock_bound_ms=pair.clock_bound_ms)
    verdict = Verdict.INVALID if pair.is_invalid(plan) else _verdict(len(values), holm_interval)
    undecided = verdict is Verdict.UNDECIDED
    return Comparison(
        metric=pair.metric,
        family=family,
        clients=pair.clients,
        a=pair.a,
        b=pair.b,
        blocks_complete=len(pair.blocks),
        blocks_valid=pair.blocks_valid,
        differences=pair.differences,
        estimate=estimate,
        ratio=pair.ratio(),
        interval=signed_rank_interval(values, LEVEL),
        holm_interval=holm_interval,
        equivalence_interval=equivalence_interval,
        p_signed_rank=signed_rank_p(values),
        p_sign_flip=sign_flip_p(values),
        p_holm=step.adjusted_p,
        margin=limit,
        equivalent=verdict is not Verdict.INVALID
        and limit is not None
        and equivalence_interval.is_within(limit),
        verdict=verdict,
        more_blocks=more_blocks(values, estimate=estimate, margin=limit, alpha=1 - step.level)
        if undecided
        else None,
    )


def _verdict(count: int, holm_interval: Interval) -> Verdict:
    if count < BLOCKS_MIN or not holm_interval.excludes(0.0):
        return Verdict.UNDECIDED
    assert holm_interval.low is not None
    return Verdict.LOWER_A if holm_interval.low > 0 else Verdict.LOWER_B
