"""Means and quantiles of grouped values, such as the delays of each client, for all groups at once.

The values of one group are contiguous, so that a group is a start and a count; their order within it is kept. Quantiles
follow the project's one definition (`statistics/quantile.py`), and means are summed without loss of digits. The figures
are therefore the same as if each group were computed alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import fsum
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from app.lab.analysis.columns import Floats, Integers

Value = TypeVar("Value", bound=np.generic)


@dataclass(frozen=True, slots=True)
class Groups:
    """A partition of rows into groups, ascending by key."""

    keys: Integers
    """The key of each group; shape (groups,)."""
    starts: Integers
    """The position in `order` at which each group begins."""
    counts: Integers
    """The number of rows of each group; never 0."""
    order: Integers
    """The row at each position, group by group; shape (rows,)."""

    @classmethod
    def by(cls, keys: Integers) -> Groups:
        """Group the rows by their keys; rows of one group keep their order."""
        is_sorted = bool((keys[1:] >= keys[:-1]).all())
        order = np.arange(len(keys)) if is_sorted else np.argsort(keys, kind="stable")
        ordered = keys[order]
        is_first = np.ones(len(keys), dtype=bool)
        is_first[1:] = ordered[1:] != ordered[:-1]
        starts = np.flatnonzero(is_first)
        ends = np.empty_like(starts)
        ends[:-1], ends[-1:] = starts[1:], len(keys)
        return cls(ordered[starts], starts, ends - starts, order)

    def __len__(self) -> int:
        return len(self.keys)

    def parts(self, values: NDArray[Value]) -> Iterator[NDArray[Value]]:
        """Yield the values of each group. `values`: one for each row, in the order given to `by`."""
        ordered = values[self.order]
        for start, count in zip(self.starts.tolist(), self.counts.tolist(), strict=True):
            yield ordered[start : start + count]

    def numbers(self) -> Integers:
        """Return the index of the group at each position, from 0."""
        return np.repeat(np.arange(len(self)), self.counts)

    def means(self, values: Floats) -> list[float]:
        """Return the mean of each group."""
        return [fsum(own.tolist()) / len(own) for own in self.parts(values)]

    def sorted(self, values: Floats) -> Floats:
        """Return the values in ascending order within each group, for `quantiles`."""
        return np.concatenate([np.sort(own) for own in self.parts(values)]) if len(self) else values[:0]

    def quantiles(self, ascending: Floats, share: float) -> list[float]:
        """Return the quantile of each group, type 7 as in `statistics/quantile.py`. `ascending`: from `sorted`."""
        positions = (self.counts - 1) * share
        below = np.floor(positions).astype(np.int64)
        above = np.minimum(below + 1, self.counts - 1)
        low, high = ascending[self.starts + below], ascending[self.starts + above]
        found: list[float] = (low + (positions - below) * (high - low)).tolist()
        return found
