"""Pseudo-median, signed-rank interval and exact tests of a small sample of block differences.

The unit of analysis is the block difference, of which a run has 3 to some dozens. Pooled samples are many more, but
they are not independent: they yield false positives in 25 to 65 % of runs (`measurement.md` section 5).

With so few values, everything here is exact: no bootstrap, no normal approximation, no random numbers. Constants below
state the sizes from which on an approximation is as good and is used instead.

Sources: Hodges and Lehmann, Ann. Math. Statist. 34 (1963); Hollander, Wolfe and Chicken, Nonparametric Statistical
Methods, 3rd ed., sections 3.1 to 3.3.
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
"""Largest sample whose signed-rank distribution is enumerated; above it, the normal one differs in the fourth digit."""

EXACT_FLIPS_MAX = 32
"""Largest sample for which all 2^n sign flips are counted, as two halves of at most 65,536 sums each."""

_ROUNDING = 1e-12
"""Levels such as 1 - 0.05/6 carry rounding errors; a probability this close to a limit counts as equal to it."""


def pseudo_median(values: Sequence[float]) -> float | None:
    """Return the Hodges-Lehmann estimate of the centre: the median of the Walsh averages; `None` without values."""
    return median(_walsh_averages(values))


def signed_rank_interval(values: Sequence[float], level: float) -> Interval:
    """Return the exact confidence interval of the centre that inverts Wilcoxon's signed-rank test.

    Its ends are the k-th smallest and the k-th largest of the M = n (n + 1) / 2 Walsh averages. k is the largest number
    that satisfies P(T <= k - 1) <= (1 - level) / 2. Below 6 values there is no interval at 95 %, below 5 none at 90 %.
    """
    averages = _walsh_averages(values)
    tail = (1 - level) / 2
    rank = _largest_rank(len(values), tail) if values else 0
    if rank < 1:
        return Interval(None, None, level)
    return Interval(averages[rank - 1], averages[-rank], level)


def signed_rank_p(values: Sequence[float]) -> float:
    """Return the two-sided p of the signed-rank test of centre 0, the exact counterpart of `signed_rank_interval`.

    It is at most alpha if and only if the interval of level 1 - alpha excludes 0. Walsh averages that are 0 count
    for both sides, which is conservative with ties. Without values it is 1.
    """
    averages = _walsh_averages(values)
    not_above = sum(average <= 0 for average in averages)
    not_below = sum(average >= 0 for average in averages)
    return min(1.0, 2 * _at_most(len(values), min(not_above, not_below))) if values else 1.0


def sign_flip_p(values: Sequence[float]) -> float:
    """Return the two-sided p of the sign-flip (paired permutation) test of the mean; 1 without values.

    It is the share of the 2^n sign patterns whose sum is at least as far from 0 as the one observed. It is exact up to
    `EXACT_FLIPS_MAX` values. Above, the sum of n independent +-D is taken as normal with variance sum(D^2), since
    counting 2^33 patterns takes longer than the trials.
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
    """Return (D_i + D_j) / 2 for all i <= j, in ascending order."""
    return sorted((a + b) / 2 for i, a in enumerate(values) for b in values[i:])


def _flipped_sums(values: Sequence[float]) -> list[float]:
    sums = [0.0]
    for value in values:
        sums = [each + flipped for each in sums for flipped in (value, -value)]
    return sums


def _largest_rank(count: int, tail: float) -> int:
    """Return the largest k with P(T <= k - 1) <= tail; 0 when there is none."""
    if count > EXACT_RANKS_MAX:
        centre, deviation = _normal_of_ranks(count)
        # `_at_most` has the same continuity correction of half a rank, so that interval and test agree here too.
        return max(0, math.floor(centre + 0.5 + NormalDist().inv_cdf(tail) * deviation))
    return bisect_left(_cumulative(count), tail + _ROUNDING)


def _at_most(count: int, statistic: int) -> float:
    """Return P(T <= statistic) of the signed-rank statistic under the null hypothesis."""
    if count > EXACT_RANKS_MAX:
        centre, deviation = _normal_of_ranks(count)
        return NormalDist().cdf((statistic + 0.5 - centre) / deviation)
    return _cumulative(count)[statistic]


def _normal_of_ranks(count: int) -> tuple[float, float]:
    return count * (count + 1) / 4, math.sqrt(count * (count + 1) * (2 * count + 1) / 24)


@lru_cache(maxsize=64)
def _cumulative(count: int) -> tuple[float, ...]:
    """Return P(T <= k) for k = 0 ... n (n + 1) / 2: subsets of the ranks 1 ... n, counted by their sum."""
    subsets = [1]
    for rank in range(1, count + 1):
        longer = subsets + [0] * rank
        for total, number in enumerate(subsets):
            longer[total + rank] += number
        subsets = longer
    return tuple(number / 2**count for number in accumulate(subsets))
