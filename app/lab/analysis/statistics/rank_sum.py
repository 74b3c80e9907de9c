"""Shift between two small independent groups, with an exact rank-sum interval and test.

`signed_rank.py` serves paired values. This module serves runs made at different times, whose blocks have no partner:

    shift     Hodges and Lehmann: the median of all m n differences b_j - a_i
    interval  the k-th smallest and k-th largest of those differences, by the exact distribution of Mann and Whitney's U
    p         two-sided, of the same U; at most alpha if and only if the interval of level 1 - alpha excludes 0

Source: Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, 3rd ed., sections 4.1 to 4.3.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from statistics import NormalDist

from app.lab.analysis.statistics.interval import Interval
from app.lab.analysis.statistics.quantile import median

EXACT_PRODUCT_MAX = 2500
"""Largest m n for which U is enumerated (50 trials each); above it, the normal distribution differs in the fourth digit."""

_ROUNDING = 1e-12


def shift(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Return the Hodges-Lehmann estimate of how far b lies above a; `None` when one is empty."""
    return median(_differences(a, b))


def rank_sum_interval(a: Sequence[float], b: Sequence[float], level: float) -> Interval:
    """Return the exact interval of the shift; its ends are `None` when the groups are too small for the level."""
    if not a or not b:
        return Interval(None, None, level)
    ordered = _differences(a, b)
    rank = _largest_rank(len(a), len(b), (1 - level) / 2)
    if rank < 1:
        return Interval(None, None, level)
    return Interval(ordered[rank - 1], ordered[-rank], level)


def rank_sum_p(a: Sequence[float], b: Sequence[float]) -> float:
    """Return the two-sided p of the test of no shift; 1 when a group is empty.

    Differences of 0 count for both sides, which is conservative with ties.
    """
    if not a or not b:
        return 1.0
    ordered = _differences(a, b)
    not_above, not_below = sum(each <= 0 for each in ordered), sum(each >= 0 for each in ordered)
    return min(1.0, 2 * _at_most(len(a), len(b), min(not_above, not_below)))


def smallest_p(m: int, n: int) -> float:
    """Return the p of groups of m and n values that do not overlap: no two such groups have a smaller one."""
    return min(1.0, 2 * _at_most(m, n, 0)) if m and n else 1.0


def _differences(a: Sequence[float], b: Sequence[float]) -> list[float]:
    return sorted(y - x for x in a for y in b)


def _largest_rank(m: int, n: int, tail: float) -> int:
    """Return the largest k with P(U <= k - 1) <= tail; 0 when there is none."""
    if m * n > EXACT_PRODUCT_MAX:
        centre, deviation = _normal(m, n)
        # `_at_most` has the same continuity correction of half a rank, so that interval and test agree here too.
        return max(0, math.floor(centre + 0.5 + NormalDist().inv_cdf(tail) * deviation))
    return bisect_left(_cumulative(min(m, n), max(m, n)), tail + _ROUNDING)


def _at_most(m: int, n: int, statistic: int) -> float:
    if m * n > EXACT_PRODUCT_MAX:
        centre, deviation = _normal(m, n)
        return NormalDist().cdf((statistic + 0.5 - centre) / deviation)
    return _cumulative(min(m, n), max(m, n))[statistic]


def _normal(m: int, n: int) -> tuple[float, float]:
    return m * n / 2, math.sqrt(m * n * (m + n + 1) / 12)


@lru_cache(maxsize=64)
def _cumulative(m: int, n: int) -> tuple[float, ...]:
    """Return P(U <= k) for k = 0 ... m n, from the Gaussian binomial coefficient.

    The number of arrangements with U = k is the coefficient of q^k in the product of (1 - q^(n + i)) / (1 - q^i),
    i = 1 ... m. The loops multiply and divide out one factor after another.
    """
    size = m * n
    ways = [1] + [0] * size
    for i in range(1, m + 1):
        for k in range(size, n + i - 1, -1):
            ways[k] -= ways[k - n - i]
        for k in range(i, size + 1):
            ways[k] += ways[k - i]
    total = math.comb(m + n, m)
    return tuple(number / total for number in accumulate(ways))
