"""A12 effect size and Cliff's delta of two groups of trial medians.

    A12 = (#(b > a) + #(b = a) / 2) / (m n)         over all pairs of a trial of a with a trial of b
    Cliff's delta = 2 A12 - 1

Sources: Vargha and Delaney, J. Educ. Behav. Stat. 25 (2000); Cliff, Psychol. Bull. 114 (1993); Arcuri and Briand,
Softw. Test. Verif. Reliab. 24 (2014). The unit is the trial and not the sample, since pooled samples would show how
wide a trial is. Both ignore the pairing by block and are descriptive; intervals and verdicts come from block differences.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

SMALL, MEDIUM, LARGE = 0.147, 0.33, 0.474
"""Thresholds of |delta| by Romano and others (2006), as Arcuri and Briand quote them."""


@dataclass(frozen=True, slots=True)
class EffectSize:
    """The size of the difference between the trials of b and those of a."""

    a12: float
    """Probability that a random trial of b is above a random trial of a, ties counted half; 0.5 when they are alike."""
    cliff: float
    """Cliff's delta, from -1 (every b below every a) to 1."""
    word: str
    """The size in words: negligible, small, medium or large."""


def effect_size(a: Sequence[float], b: Sequence[float]) -> EffectSize | None:
    """Return the effect size of b over a, two groups of trial medians; `None` when one is empty."""
    if not a or not b:
        return None
    ordered = sorted(a)
    # Twice the U statistic of b, a whole number: each b counts the a's below it twice and its equals once.
    twice_u = sum(bisect_left(ordered, value) + bisect_right(ordered, value) for value in b)
    pairs = len(a) * len(b)
    # Computed from whole numbers, so that swapping the groups changes nothing but the sign.
    cliff = (twice_u - pairs) / pairs
    return EffectSize(twice_u / (2 * pairs), cliff, _word(abs(cliff)))


def _word(size: float) -> str:
    if size < SMALL:
        return "negligible"
    return "small" if size < MEDIUM else "medium" if size < LARGE else "large"
