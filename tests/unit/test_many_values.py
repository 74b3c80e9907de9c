"""Beyond what is counted out, interval and test come from one normal distribution and agree, to the single rank."""

from __future__ import annotations

import math
import random
from itertools import combinations_with_replacement
from statistics import NormalDist

import pytest

from app.lab.analysis.statistics.rank_sum import EXACT_PRODUCT_MAX, rank_sum_interval, rank_sum_p
from app.lab.analysis.statistics.signed_rank import EXACT_RANKS_MAX, signed_rank_interval, signed_rank_p

ALPHA = 0.05

NEAR = range(-2, 3)
"""Ranks around the one at which the test begins to reject."""


def limit(centre: float, deviation: float) -> int:
    return round(centre + NormalDist().inv_cdf(ALPHA / 2) * deviation)


def below_zero(ordered: list[float], count: int) -> float:
    """What has to be added so that just so many of them lie below 0."""
    return -(ordered[count - 1] + ordered[count]) / 2


@pytest.mark.parametrize("count", [EXACT_RANKS_MAX + 1, EXACT_RANKS_MAX + 5])
def test_of_many_pairs_interval_and_test_agree_at_every_rank(count: int) -> None:
    rng = random.Random(count)
    values = [rng.gauss(0.0, 1.0) for _ in range(count)]
    averages = sorted((a + b) / 2 for a, b in combinations_with_replacement(values, 2))
    first = limit(count * (count + 1) / 4, math.sqrt(count * (count + 1) * (2 * count + 1) / 24))

    for near in NEAR:
        moved = [value + below_zero(averages, first + near) for value in values]
        decided = signed_rank_p(moved) <= ALPHA
        assert signed_rank_interval(moved, 1 - ALPHA).excludes(0.0) == decided, near


@pytest.mark.parametrize(("m", "n"), [(51, 50), (51, 51)])
def test_of_two_large_groups_interval_and_test_agree_at_every_rank(m: int, n: int) -> None:
    rng = random.Random(m)
    a, b = [rng.gauss(0.0, 1.0) for _ in range(m)], [rng.gauss(0.0, 1.0) for _ in range(n)]
    shifts = sorted(y - x for x in a for y in b)
    first = limit(m * n / 2, math.sqrt(m * n * (m + n + 1) / 12))

    assert m * n > EXACT_PRODUCT_MAX
    for near in NEAR:
        moved = [value + below_zero(shifts, first + near) for value in b]
        decided = rank_sum_p(a, moved) <= ALPHA
        assert rank_sum_interval(a, moved, 1 - ALPHA).excludes(0.0) == decided, near
