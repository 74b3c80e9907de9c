"""The project's one definition of quantile, median and mean.

Source: Hyndman and Fan, The American Statistician 50 (1996), type 7.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Protocol, SupportsFloat


class Ascending(Protocol):
    """Values in ascending order: a list, a tuple, or an array."""

    def __len__(self) -> int:
        """Return the number of values."""

    def __getitem__(self, place: int, /) -> SupportsFloat:
        """Return the value at an index."""


def quantile(values: Sequence[float], share: float) -> float | None:
    """Return the quantile, linear between order statistics (Hyndman and Fan's type 7); `None` without values.

    It equals NumPy's and R's default, so that other tools compute the same figures from `deliveries.csv`.
    """
    return quantile_of_ascending(sorted(values), share)


def quantile_of_ascending(ordered: Ascending, share: float) -> float | None:
    """Return the same quantile of sorted values, such as an array of a million."""
    if not len(ordered):
        return None
    position = (len(ordered) - 1) * share
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    low, high = float(ordered[below]), float(ordered[above])
    return low + (position - below) * (high - low)


def median(values: Sequence[float]) -> float | None:
    """Return the quantile at one half; `None` without values."""
    return quantile(values, 0.5)


def mean(values: Sequence[float]) -> float | None:
    """Return the arithmetic mean, summed without loss of digits; `None` without values."""
    return math.fsum(values) / len(values) if values else None


def known(values: Iterable[float | None]) -> list[float]:
    """Return the values that are not `None`, in their order."""
    return [value for value in values if value is not None]
