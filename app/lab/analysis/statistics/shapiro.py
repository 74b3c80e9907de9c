"""Shapiro-Wilk test of normality, reported for information only.

The library study chose its test by this one. Here it never selects a test, since a choice made from the data changes the
error rate of the chosen test (`measurement.md` section 5).

W = (sum a_i x_(i))^2 / sum (x_i - mean)^2 with Royston's approximate weights and p.

Source: Royston, Algorithm AS R94, Appl. Statist. 44 (1995); polynomials as published. For 3 to 5,000 values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean

COUNT_MIN, COUNT_MAX = 3, 5000

_LAST = (0.0, 0.221157, -0.147981, -2.071190, 4.434685, -2.706056)
_LAST_BUT_ONE = (0.0, 0.042981, -0.293762, -1.752461, 5.682633, -3.582633)
_SMALL_GAMMA = (-2.273, 0.459)
_SMALL_MEAN = (0.5440, -0.39978, 0.025054, -6.714e-4)
_SMALL_LOG_SD = (1.3822, -0.77857, 0.062767, -0.0020322)
_LARGE_MEAN = (-1.5861, -0.31082, -0.083751, 0.0038915)
_LARGE_LOG_SD = (-0.4803, -0.082676, 0.0030302)


@dataclass(frozen=True, slots=True)
class Normality:
    """The outcome of the test."""

    w: float
    """The test statistic: 1 for a perfectly normal sample, smaller the less normal it is."""
    p: float


def shapiro_wilk(values: Sequence[float]) -> Normality | None:
    """Return the test's outcome; `None` for fewer than 3 or more than 5,000 values, or when all are equal."""
    ordered, count = sorted(values), len(values)
    if not COUNT_MIN <= count <= COUNT_MAX or ordered[0] == ordered[-1]:
        return None
    scale = ordered[-1] - ordered[0]
    scaled = [(value - ordered[0]) / scale for value in ordered]
    centre = fmean(scaled)
    weights = _weights(count)
    over = math.fsum(a * x for a, x in zip(weights, scaled, strict=True)) ** 2
    w = min(over / math.fsum((x - centre) ** 2 for x in scaled), 1.0)
    return Normality(w, _p(w, count))


def _weights(count: int) -> list[float]:
    """Return the weights a_1 ... a_n: an antisymmetric vector of length one."""
    if count == 3:
        return [-math.sqrt(0.5), 0.0, math.sqrt(0.5)]
    normal = NormalDist()
    middles = [normal.inv_cdf((i - 0.375) / (count + 0.25)) for i in range(1, count + 1)]
    square = math.fsum(m * m for m in middles)
    small = 1 / math.sqrt(count)
    last = _polynomial(_LAST, small) + middles[-1] / math.sqrt(square)
    if count <= 5:
        rest = math.sqrt((square - 2 * middles[-1] ** 2) / (1 - 2 * last**2))
        inner = [m / rest for m in middles[1:-1]]
        return [-last, *inner, last]
    next_last = _polynomial(_LAST_BUT_ONE, small) + middles[-2] / math.sqrt(square)
    rest = math.sqrt(
        (square - 2 * middles[-1] ** 2 - 2 * middles[-2] ** 2) / (1 - 2 * last**2 - 2 * next_last**2)
    )
    return [-last, -next_last, *(m / rest for m in middles[2:-2]), next_last, last]


def _p(w: float, count: int) -> float:
    if count == 3:
        return max(0.0, 6 / math.pi * (math.asin(math.sqrt(w)) - math.asin(math.sqrt(0.75))))
    if w >= 1.0:
        return 1.0
    size = math.log(1 - w)
    if count <= 11:
        gamma = _polynomial(_SMALL_GAMMA, count)
        if size >= gamma:
            return 0.0  # W is below the range of the approximation: the sample is as far from normal as it can be.
        size = -math.log(gamma - size)
        centre, spread = _polynomial(_SMALL_MEAN, count), math.exp(_polynomial(_SMALL_LOG_SD, count))
    else:
        log_count = math.log(count)
        centre = _polynomial(_LARGE_MEAN, log_count)
        spread = math.exp(_polynomial(_LARGE_LOG_SD, log_count))
    return 0.5 * math.erfc((size - centre) / spread / math.sqrt(2))


def _polynomial(coefficients: Sequence[float], x: float) -> float:
    return math.fsum(each * x**power for power, each in enumerate(coefficients))
