"""Power of the paired t test and of its equivalence test, by the number of blocks.

The verdict's exact signed-rank test has 95 % of the t test's efficiency on normal differences, and more on long tails. The
numbers of blocks are therefore of the right order of magnitude and no promise. `d` is the true difference over the
standard deviation of block differences.

    power(n)             P(|T| > t_crit), T noncentral t with n - 1 degrees of freedom and noncentrality d sqrt(n)
    equivalence(n)       P(both one-sided tests pass) at a true difference of 0, d being the margin over the deviation

A noncentral t is (Z + ncp) / S with S^2 = chi^2 / df. Its distribution is the normal one averaged over S, here by
Simpson's rule over +- 10 standard deviations of S. Source: Julious, Stat. Med. 23 (2004).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

BLOCKS_MAX = 999
POWER = 0.8

_SLICES = 400


def power(blocks: int, effect: float, *, alpha: float = 0.05) -> float:
    """Return the power of the two-sided paired t test at `alpha`; `effect` is in standard deviations."""
    if blocks < 3:
        return 0.0
    df, shift = blocks - 1, abs(effect) * math.sqrt(blocks)
    limit = t_quantile(1 - alpha / 2, df)
    return _over_spread(df, lambda s: 1 - _cdf(limit * s - shift) + _cdf(-limit * s - shift))


def equivalence_power(blocks: int, margin: float, *, alpha: float = 0.05) -> float:
    """Return the probability that two one-sided tests at `alpha` both pass when there is no true difference.

    `margin` is the equivalence margin in standard deviations.
    """
    if blocks < 3:
        return 0.0
    df, reach = blocks - 1, margin * math.sqrt(blocks)
    limit = t_quantile(1 - alpha, df)
    return _over_spread(df, lambda s: max(0.0, 2 * _cdf(reach - limit * s) - 1))


def blocks_for(effect: float, *, alpha: float = 0.05, wanted: float = POWER) -> int | None:
    """Return the fewest blocks that find `effect` with the power `wanted`; `None` above 999."""
    return _fewest(lambda blocks: power(blocks, effect, alpha=alpha) >= wanted)


def blocks_for_equivalence(margin: float, *, alpha: float = 0.05, wanted: float = POWER) -> int | None:
    """Return the fewest blocks that show equivalence with the power `wanted` without a true difference; `None` above 999."""
    return _fewest(lambda blocks: equivalence_power(blocks, margin, alpha=alpha) >= wanted)


@cache
def t_quantile(share: float, df: int) -> float:
    """Return the quantile of Student's t distribution at `share`, which is at least one half."""
    low, high = 0.0, 1.0
    while _t_cdf(high, df) < share:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _t_cdf(middle, df) < share else (low, middle)
    return (low + high) / 2


def _t_cdf(value: float, df: int) -> float:
    return _over_spread(df, lambda s: _cdf(value * s))


def _over_spread(df: int, function: Callable[[float], float]) -> float:
    """Return the mean of a function of S = sqrt(chi^2 / df)."""
    step, points = _spread_points(df)
    return step * math.fsum(weight * function(s) for s, weight in points)


@cache
def _spread_points(df: int) -> tuple[float, tuple[tuple[float, float], ...]]:
    """Return the step of the integration, and points of S with Simpson's weight times density."""
    low, high = max(0.0, 1 - 10 / math.sqrt(2 * df)), 1 + 10 / math.sqrt(2 * df)
    step = (high - low) / _SLICES
    # The density of S is 2 (df/2)^(df/2) / Gamma(df/2) s^(df-1) exp(-df s^2 / 2).
    constant = math.log(2) + df / 2 * math.log(df / 2) - math.lgamma(df / 2)
    points = []
    for index in range(_SLICES + 1):
        s = low + index * step
        if s > 0 or df == 1:
            density = (
                math.exp(constant + (df - 1) * math.log(s) - df * s * s / 2) if s > 0 else math.exp(constant)
            )
            weight = 1 if index in (0, _SLICES) else 4 if index % 2 else 2
            points.append((s, weight * density / 3))
    return step, tuple(points)


def _cdf(value: float) -> float:
    return 0.5 * math.erfc(-value / math.sqrt(2))


def _fewest(enough: Callable[[int], bool]) -> int | None:
    low, high = 2, 2
    while not enough(high):
        low, high = high + 1, high * 2
        if low > BLOCKS_MAX:
            return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return high if high <= BLOCKS_MAX else None
