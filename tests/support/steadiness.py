"""Detection of growth: a line through block means, with an upper bound of its slope.

Consecutive samples of a process's memory are nearly equal. Used one by one, they would make any slope look certain, so
the mean of a block of them is one observation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from app.lab.analysis.statistics.power import t_quantile

BLOCKS = 20

CONFIDENCE = 0.95
"""One-sided: the true slope exceeds the bound in one of twenty such runs."""


@dataclass(frozen=True, slots=True)
class Slope:
    """Slope in percent of the mean per ten minutes."""

    percent: float
    percent_upper: float
    """Upper 95 % bound."""


def slope(samples: Sequence[tuple[float, float]], *, blocks: int = BLOCKS) -> Slope:
    """Fit samples (second, value) over equal stretches of time. Raises `ValueError` when a block is empty."""
    means = block_means(samples, blocks=blocks)
    middle_s = math.fsum(t for t, _ in means) / blocks
    level = math.fsum(y for _, y in means) / blocks
    spread = math.fsum((t - middle_s) ** 2 for t, _ in means)
    steep = math.fsum((t - middle_s) * (y - level) for t, y in means) / spread
    rest = math.fsum((y - level - steep * (t - middle_s)) ** 2 for t, y in means)
    error = math.sqrt(rest / (blocks - 2) / spread)
    to_percent = 600 * 100 / level
    upper = steep + t_quantile(CONFIDENCE, blocks - 2) * error
    return Slope(steep * to_percent, upper * to_percent)


def block_means(samples: Sequence[tuple[float, float]], *, blocks: int) -> list[tuple[float, float]]:
    """Return the mean second and the mean value of each stretch."""
    first_s, last_s = samples[0][0], samples[-1][0]
    piles: list[list[tuple[float, float]]] = [[] for _ in range(blocks)]
    for t, y in samples:
        piles[min(blocks - 1, int((t - first_s) / (last_s - first_s) * blocks))].append((t, y))
    if not all(piles):
        raise ValueError(f"{len(samples)} samples are too few for {blocks} blocks.")
    return [
        (math.fsum(t for t, _ in pile) / len(pile), math.fsum(y for _, y in pile) / len(pile))
        for pile in piles
    ]
