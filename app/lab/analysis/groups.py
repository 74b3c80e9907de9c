"""Values that belong to groups, such as the delays of each client: figures of every group at once.

Values of one group lie behind one another, so a group is a start and a count; inside it the order is kept. A quantile is
the project's one (`statistics.py`), and a mean is summed without loss of digits, so that the figures do not depend on how
they were computed.
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
    """How so many rows fall into groups, ascending by key."""

    keys: Integers
    """Of each group; shape (groups,)."""
    starts: Integers
    """Where it begins."""
    counts: Integers
    """Its rows; never 0."""
    order: Integers
    """Which row stands at each place; shape (rows,)."""

    @classmethod
    def by(cls, keys: Integers) -> Groups:
        """Rows with the same key together, in their order."""
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
        """The values of each group. `values`: one for each row, as they were given to `by`."""
        ordered = values[self.order]
        for start, count in zip(self.starts.tolist(), self.counts.tolist(), strict=True):
            yield ordered[start : start + count]

    def numbers(self) -> Integers:
        """The number of the group at each place, from 0."""
        return np.repeat(np.arange(len(self)), self.counts)

    def means(self, values: Floats) -> list[float]:
        """The mean of each group."""
        return [fsum(own.tolist()) / len(own) for own in self.parts(values)]

    def sorted(self, values: Floats) -> Floats:
        """The values ascending inside each group, for `quantiles`."""
        return np.concatenate([np.sort(own) for own in self.parts(values)]) if len(self) else values[:0]

    def quantiles(self, ascending: Floats, share: float) -> list[float]:
        """The quantile of each group, type 7, as `statistics.quantile` has it. `ascending`: from `sorted`."""
        places = (self.counts - 1) * share
        below = np.floor(places).astype(np.int64)
        above = np.minimum(below + 1, self.counts - 1)
        low, high = ascending[self.starts + below], ascending[self.starts + above]
        found: list[float] = (low + (places - below) * (high - low)).tolist()
        return found
