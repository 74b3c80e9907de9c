"""How small a difference must be to count as none, fixed with the plan; and how many blocks a verdict still needs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import NormalDist, stdev

from app.core.plan.scenario import Plan
from app.lab.analysis.statistics.quantile import median

BLOCKS_MIN = 8
"""Below, no exact test passes Holm over a family of six (two-sided p is at least 2/2^n), and no verdict is given."""

BLOCKS_NEEDED_MAX = 999
"""More is not a number of blocks but the answer "not this way"."""

CPU_SHARE = 0.10
JITTER_SHARE = 0.20
DELAY_LAN_MS = 5.0
DELAY_LAN_SHARE = 0.10
DELAY_LOOPBACK_SHARE = 0.20

_POWER = 0.8
"""The usual chance to find what is there; with it the formula below is within two of TTestPower's table."""

_SMALL_SAMPLE_BLOCKS = 2
"""What t costs over the normal distribution at these sizes."""


def margin(metric: str, plan: Plan, *, a_median: float | None, clock_bound_ms: float | None) -> float | None:
    """The margin of equivalence in the metric's unit; `None` where arm a has no value.

    Delay on loopback: 20 % of a's median, and at least twice the clock's bound, since less cannot be told apart.
    Delay on a LAN: 10 %, and at least 5 ms. CPU per delivery: 10 %. Jitter: 20 %.
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
    """The clock's bound for a margin, from the widest of the trials of each block that counts: their median.

    What is compared is in the middle of the blocks too, so one block with a bad clock moves neither far.
    """
    return median([each for each in widest_ms if each is not None])


def more_blocks(
    differences: Sequence[float], *, estimate: float | None, margin: float | None, alpha: float
) -> int:
    """About how many more blocks a run needs for a difference, or equivalence, of this size to show: 80 % power.

    n = ((z_level + z_power) s / distance)^2 + 2, the normal approximation of the paired t test's power; for a
    difference the distance is the estimate itself, for equivalence what lies between it and the margin (two one-sided
    tests at 5 %, both of which must pass). Never fewer than bring the run to `BLOCKS_MIN`.
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
