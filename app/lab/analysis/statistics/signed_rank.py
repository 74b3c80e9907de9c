"""Exact, distribution-free statistics of a handful of block differences, and the project's one quantile.

The unit of analysis is the block difference, of which a run has 3 to some dozens. Pooled samples would be many
more, but are not independent: they find differences that are not there in 25 to 65 % of runs (`measurement.md`
section 5). With so few values, everything here is exact: no bootstrap, no normal approximation, no random numbers,
up to sizes where an approximation is as good; those are stated where they begin.

Sources: Hodges and Lehmann, Ann. Math. Statist. 34 (1963); Hollander, Wolfe and Chicken, Nonparametric Statistical
Methods, 3rd ed., sections 3.1 to 3.3; Hyndman and Fan, The American Statistician 50 (1996).
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

EXACT_RANKS_MAX = 100
"""Up to here the signed-rank distribution is counted out; beyond, the normal one differs in the fourth digit."""

EXACT_FLIPS_MAX = 32
"""Up to here all 2^n sign flips are counted, as two halves of at most 65,536 sums each."""

_ROUNDING = 1e-12
"""Levels such as 1 - 0.05/6 carry rounding errors; a probability this close to a limit is on it."""


def pseudo_median(values: Sequence[float]) -> float | None:
    """Hodges and Lehmann's estimate of the centre: the median of the Walsh averages; `None` of nothing."""
    return median(_walsh_averages(values))


def signed_rank_interval(values: Sequence[float], level: float) -> Interval:
    """The exact confidence interval of the centre that belongs to Wilcoxon's signed-rank test.

    Of the M = n (n + 1) / 2 ordered Walsh averages, the k-th from either end, with k as large as
    P(T <= k - 1) <= (1 - level) / 2 allows. Below 6 values there is none at 95 %, below 5 none at 90 %.
    """
    averages = _walsh_averages(values)
    tail = (1 - level) / 2
    rank = _largest_rank(len(values), tail) if values else 0
    if rank < 1:
        return Interval(None, None, level)
    return Interval(averages[rank - 1], averages[-rank], level)


def signed_rank_p(values: Sequence[float]) -> float:
    """Two-sided p of the signed-rank test of centre 0, the exact counterpart of `signed_rank_interval`.

    It is at most alpha if and only if the interval of level 1 - alpha excludes 0. Walsh averages that are 0 count
    for both sides, which is the careful way with ties. 1 of nothing.
    """
    averages = _walsh_averages(values)
    not_above = sum(average <= 0 for average in averages)
    not_below = sum(average >= 0 for average in averages)
    return min(1.0, 2 * _at_most(len(values), min(not_above, not_below))) if values else 1.0


def sign_flip_p(values: Sequence[float]) -> float:
    """Two-sided p of the sign-flip (paired permutation) test of the mean.

    The share of the 2^n sign patterns whose sum is at least as far from 0 as the one observed; 1 of nothing.
    Exact up to `EXACT_FLIPS_MAX` values; beyond, the sum of n independent +-D is taken as normal with variance
    sum(D^2), since counting 2^33 patterns takes longer than the trials.
    """
    observed = abs(math.fsum(values))
    scale = math.fsum(map(abs, values))
    limit = observed - _ROUNDING * scale
    if limit <= 0:
        return 1.0
    if len(values) > EXACT_FLIPS_MAX:
        deviation = math.sqrt(math.fsum(value * value for value in values))
        return 2 * NormalDist().cdf(-observed / deviation)
    half = len(values) // 2
    left, right = _flipped_sums(values[:half]), sorted(_flipped_sums(values[half:]))
    reaching = sum(len(right) - bisect_left(right, limit - each) for each in left)
    return float(min(1.0, 2 * reaching / 2.0 ** len(values)))


def _walsh_averages(values: Sequence[float]) -> list[float]:
    """(D_i + D_j) / 2 for all i <= j, in ascending order."""
    return sorted((a + b) / 2 for i, a in enumerate(values) for b in values[i:])


def _flipped_sums(values: Sequence[float]) -> list[float]:
    sums = [0.0]
    for value in values:
        sums = [each + flipped for each in sums for flipped in (value, -value)]
    return sums


def _largest_rank(count: int, tail: float) -> int:
    """The largest k with P(T <= k - 1) <= tail; 0 when there is none."""
    if count > EXACT_RANKS_MAX:
        centre, deviation = _normal_of_ranks(count)
        # From P(T <= k - 1) as `_at_most` has it, half a rank up: so that interval and test agree here too.
        return max(0, math.floor(centre + 0.5 + NormalDist().inv_cdf(tail) * deviation))
    return bisect_left(_cumulative(count), tail + _ROUNDING)


def _at_most(count: int, statistic: int) -> float:
    """P(T <= statistic) of the signed-rank statistic under the null hypothesis."""
    if count > EXACT_RANKS_MAX:
        centre, deviation = _normal_of_ranks(count)
        return NormalDist().cdf((statistic + 0.5 - centre) / deviation)
    return _cumulative(count)[statistic]


def _normal_of_ranks(count: int) -> tuple[float, float]:
    return count * (count + 1) / 4, math.sqrt(count * (count + 1) * (2 * count + 1) / 24)


@lru_cache(maxsize=64)
def _cumulative(count: int) -> tuple[float, ...]:
    """P(T <= k) for k = 0 ... n (n + 1) / 2: subsets of the ranks 1 ... n, counted by their sum."""
    subsets = [1]
    for rank in range(1, count + 1):
        longer = subsets + [0] * rank
        for total, number in enumerate(subsets):
            longer[total + rank] += number
        subsets = longer
    return tuple(number / 2**count for number in accumulate(subsets))
