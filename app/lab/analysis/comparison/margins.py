"""Equivalence margins, fixed with the plan, and the number of blocks that a verdict still needs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import NormalDist, stdev

from app.core.plan.scenario import Plan
from app.lab.analysis.statistics.quantile import known, median

BLOCKS_MIN = 8
"""Fewest blocks for a verdict: with fewer, no exact test passes Holm over a family of six (two-sided p >= 2/2^n)."""

BLOCKS_NEEDED_MAX = 999
"""Largest number of blocks that is suggested; a run that needs more is not the way to an answer."""

CPU_SHARE = 0.10
JITTER_SHARE = 0.20
DELAY_LAN_MS = 5.0
DELAY_LAN_SHARE = 0.10
DELAY_LOOPBACK_SHARE = 0.20

_POWER = 0.8
"""The usual power; with it, the formula of `more_blocks` is within two blocks of the table of statsmodels' TTestPower."""

_SMALL_SAMPLE_BLOCKS = 2
"""Blocks added because the t distribution needs more than the normal one at these sizes."""


def margin(metric: str, plan: Plan, *, a_median: float | None, clock_bound_ms: float | None) -> float | None:
    """Return the equivalence margin in the metric's unit; `None` where arm a has no value.

    Delay on loopback: 20 % of a's median, and at least twice the clock's bound, since smaller differences cannot be
    resolved. Delay on a LAN: 10 %, and at least 5 ms. CPU per delivery: 10 %. Jitter: 20 %.
    """
    if a_median is None:
        return None
    if metric == "cpu_per_delivery_us":
        return CPU_SHARE * abs(a_median)
    if metric == "jitter_ms":
        return JITTER_SHARE * abs(a_median)
    if plan.environment == "lan":
        return max(DELAY_LAN_MS, DELAY_LAN_SHARE * a_median)
    return max(DELAY_LOOPBACK_SHARE * a_median, 2 * (clock_bound_ms or 0.0))


def clock_bound_of(widest_ms: Iterable[float | None]) -> float | None:
    """Return the clock's bound for a margin: the median over blocks of each block's widest bound.

    The estimate is a centre of the blocks as well, so that one block with a bad clock moves neither far.
    """
    return median(known(widest_ms))


def more_blocks(
    differences: Sequence[float], *, estimate: float | None, margin: float | None, alpha: float
) -> int:
    """Return about how many more blocks give 80 % power for a difference of this size, or for equivalence.

    n = ((z_level + z_power) s / distance)^2 + 2, the normal approximation of the paired t test's power. For a difference
    the distance is the estimate itself. For equivalence it is the distance from the estimate to the margin (two
    one-sided tests at 5 %, both of which must pass). The result brings the run to `BLOCKS_MIN` at least.
    """
    lacking = max(BLOCKS_MIN - len(differences), 0)
    if len(differences) < 2 or estimate is None:
        return max(lacking, 1)
    spread = stdev(differences)
    difference = _blocks_for(spread, abs(estimate), 1 - alpha / 2, _POWER)
    same = _blocks_for(spread, (margin or 0.0) - abs(estimate), 0.95, (1 + _POWER) / 2)
    return max(lacking, min(difference, same) - len(differences), 1)


def _blocks_for(spread: float, distance: float, level: float, power: float) -> int:
    if distance <= 0:
        return BLOCKS_NEEDED_MAX
    normal = NormalDist()
    needed = ((normal.inv_cdf(level) + normal.inv_cdf(power)) * spread / distance) ** 2
    return min(math.ceil(needed) + _SMALL_SAMPLE_BLOCKS, BLOCKS_NEEDED_MAX)
