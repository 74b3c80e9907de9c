"""The project's one quantile, median and mean.

Source: Hyndman and Fan, The American Statistician 50 (1996), type 7.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol, SupportsFloat


class Ascending(Protocol):
    """Values in order: a list, a tuple, or an array."""

    def __len__(self) -> int:
        """How many there are."""

    def __getitem__(self, place: int, /) -> SupportsFloat:
        """The one at a place."""


def quantile(values: Sequence[float], share: float) -> float | None:
    """The project's one quantile: linear between order statistics, Hyndman and Fan's type 7; `None` of nothing.

    The same as NumPy's and R's default, so that anybody's tool finds our figures in `deliveries.csv`.
    """
    return quantile_of_ascending(sorted(values), share)


def quantile_of_ascending(ordered: Ascending, share: float) -> float | None:
    """The same of values that are in order already, such as a million in an array."""
    if not len(ordered):
        return None
    place = (len(ordered) - 1) * share
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    low, high = float(ordered[below]), float(ordered[above])
    return low + (place - below) * (high - low)


def median(values: Sequence[float]) -> float | None:
    """The quantile at one half; `None` of nothing."""
    return quantile(values, 0.5)


def mean(values: Sequence[float]) -> float | None:
    """The arithmetic mean, summed without loss of digits; `None` of nothing."""
    return math.fsum(values) / len(values) if values else None
