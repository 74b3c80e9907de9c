"""The library study's two tests on pooled samples, Shapiro-Wilk and Mann-Whitney, for comparison only.

The report prints them next to the verdict, with a label that names what they ignore. Samples of one trial resemble each
other, so that pooling finds a difference in 25 to 65 % of runs without any (`measurement.md` section 5). No verdict
depends on these tests.

    U = #(b > a) + #(b = a) / 2,    z = (|U - mn/2| - 1/2) / sd(U), with the usual correction of sd for ties

Sources: Mann and Whitney, Ann. Math. Statist. 18 (1947); Lehmann, Nonparametrics, section 1.4 (ties).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from app.lab.analysis.statistics.shapiro import COUNT_MAX, Normality, shapiro_wilk

PASS_P = 0.05

LABEL = "pooled: ignores trials, blocks, clients and order; samples of one trial are no independent evidence"


@dataclass(frozen=True, slots=True)
class MannWhitney:
    """The outcome of the Mann-Whitney test of two groups."""

    u: float
    """The U statistic of b: the number of pairs in which b is above a, ties counted half."""
    p: float
    """Two-sided p by the normal approximation, corrected for ties and continuity."""


@dataclass(frozen=True, slots=True)
class PooledTests:
    """The figures that the library study would have reported."""

    a_count: int
    b_count: int
    a_normality: Normality | None
    """Shapiro-Wilk on at most 5,000 evenly picked samples, the largest size for which the test is defined."""
    b_normality: Normality | None
    mann_whitney: MannWhitney | None
    significant: bool
    """True if p is at most 5 %, which the study calls a difference."""
    label: str = LABEL


def pooled_tests(a: Sequence[float], b: Sequence[float]) -> PooledTests:
    """Return both tests on the pooled samples of two arms."""
    found = mann_whitney(a, b)
    return PooledTests(
        a_count=len(a),
        b_count=len(b),
        a_normality=shapiro_wilk(_evenly_picked(a)),
        b_normality=shapiro_wilk(_evenly_picked(b)),
        mann_whitney=found,
        significant=found is not None and found.p <= PASS_P,
    )


def mann_whitney(a: Sequence[float], b: Sequence[float]) -> MannWhitney | None:
    """Return the Mann-Whitney test of two groups; `None` when one is empty or all values are equal."""
    if not a or not b:
        return None
    together = Counter(a) + Counter(b)
    own = Counter(b)
    rank_sum, below = 0.0, 0
    for value in sorted(together):
        count = together[value]
        rank_sum += own[value] * (below + (count + 1) / 2)
        below += count
    m, n, total = len(a), len(b), len(a) + len(b)
    u = rank_sum - n * (n + 1) / 2
    ties = sum(count**3 - count for count in together.values()) / (total * (total - 1))
    deviation = math.sqrt(m * n / 12 * (total + 1 - ties))
    if deviation == 0:
        return None
    z = max(abs(u - m * n / 2) - 0.5, 0.0) / deviation
    return MannWhitney(u, min(1.0, math.erfc(z / math.sqrt(2))))


def _evenly_picked(values: Sequence[float]) -> Sequence[float]:
    """Return at most as many values as Shapiro-Wilk takes, evenly spread over their order in time."""
    count = len(values)
    return (
        values if count <= COUNT_MAX else [values[index * count // COUNT_MAX] for index in range(COUNT_MAX)]
    )
