"""Confidence interval of a quantile within one trial, from samples thinned by their autocorrelation.

Delays of one trial are autocorrelated: a queue that is long stays long for a while. The interval of a quantile by
order statistics needs independent samples. Only every k-th is kept, k being the integrated autocorrelation time

    tau = 1 + 2 sum of rho(lag),    summed until a pair of lags adds up to 0 or less

Sources: Geyer, Statist. Sci. 7 (1992), initial positive sequence; Conover, Practical Nonparametric Statistics, 3rd
ed., section 3.2 (the interval). It holds for this one trial and not for the arm, since trials differ by more than that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from app.lab.analysis.statistics.interval import Interval

_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class TrialQuantile:
    """The interval of a quantile of one client's samples in one trial."""

    share: float
    kept: int
    """Number of samples after thinning."""
    step: int
    """The k of "every k-th sample was kept"."""
    interval: Interval
    """The interval; its ends are `None` when too few samples are left after thinning."""


def trial_quantile(values: Sequence[float], share: float, *, level: float = 0.95) -> TrialQuantile:
    """Return the interval of a quantile, from samples in order of time that are thinned by their autocorrelation time."""
    step = max(1, math.ceil(autocorrelation_time(values) - _ROUNDING))
    kept = values[::step]
    return TrialQuantile(share, len(kept), step, order_interval(kept, share, level=level))


def autocorrelation_time(values: Sequence[float]) -> float:
    """Return the integrated autocorrelation time of samples in order of time.

    It is the number of samples that carry as much information as one independent sample: at least 1, at most their
    number. For constant samples it is 1.
    """
    count = len(values)
    if count < 4:
        return 1.0
    centre = fmean(values)
    deviations = [value - centre for value in values]
    variance = math.fsum(each * each for each in deviations)
    if variance <= 0:
        return 1.0
    total, lag = -1.0, 0
    while lag + 1 < count:
        pair = sum(_products(deviations, at) for at in (lag, lag + 1)) / variance
        if pair <= 0:
            break
        total += 2 * pair
        lag += 2
    return min(max(total, 1.0), float(count))


def order_interval(values: Sequence[float], share: float, *, level: float = 0.95) -> Interval:
    """Return the exact interval of a quantile of independent samples, between two order statistics.

    With K binomial (n, share), the lower end is the r-th smallest value, r being the largest number for which
    P(K < r) <= (1 - level) / 2. The upper end is the s-th smallest, s being the smallest number for which
    P(K >= s) <= (1 - level) / 2. The ends are `None` when even the extremes do not reach the level.
    """
    tail = (1 - level) / 2 + _ROUNDING
    count = len(values)
    below = binomial_cumulative(count, share)
    lower = sum(chance <= tail for chance in below)  # P(K <= r - 1) <= tail for r = 1 ... lower
    upper = next((k + 1 for k, chance in enumerate(below) if 1 - chance <= tail), count + 1)
    ordered = sorted(values)
    if lower < 1 or upper > count:
        return Interval(None, None, level)
    return Interval(ordered[lower - 1], ordered[upper - 1], level)


def binomial_cumulative(count: int, share: float) -> list[float]:
    """Return P(K <= k) for k = 0 ... n - 1, computed by logarithms so that no size overflows."""
    if not 0 < share < 1:
        raise ValueError("A quantile's share lies between 0 and 1.")
    logs = (
        math.lgamma(count + 1)
        - math.lgamma(k + 1)
        - math.lgamma(count - k + 1)
        + k * math.log(share)
        + (count - k) * math.log1p(-share)
        for k in range(count)
    )
    found, total = [], 0.0
    for each in logs:
        total += math.exp(each)
        found.append(min(total, 1.0))
    return found


def _products(deviations: Sequence[float], lag: int) -> float:
    return math.fsum(a * b for a, b in zip(deviations, deviations[lag:], strict=False))
