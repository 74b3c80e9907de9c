"""Check that a connection gets everything that was published, exactly once and in order.

1. The common case, the next offset or a consecutive run, is one comparison in the swarm's loop (`last`).
2. Everything else is handled here: missing offsets are remembered until they arrive late, or never.
"""

from __future__ import annotations

from collections.abc import Iterable


class SequenceCheck:
    """Sequence check of one connection, with counts of its errors."""

    __slots__ = ("duplicates", "last", "missing", "out_of_order")

    def __init__(self, last: int) -> None:
        self.last = last
        """The highest offset seen."""
        self.missing: set[int] = set()
        """Offsets below `last` that have not arrived."""
        self.duplicates = 0
        self.out_of_order = 0

    def check(self, offsets: Iterable[int]) -> int:
        """Check offsets in the order of arrival. Returns how many of them were new."""
        new = 0
        for offset in offsets:
            if offset > self.last:
                self.missing.update(range(self.last + 1, offset))
                self.last = offset
            elif offset in self.missing:
                self.missing.remove(offset)
                self.out_of_order += 1
            else:
                self.duplicates += 1
                continue
            new += 1
        return new

    def lost(self, expected_last: int) -> int:
        """Return how many offsets up to `expected_last` have not arrived."""
        return len(self.missing) + max(0, expected_last - self.last)

    def restart(self) -> None:
        """Begin a new window after what has been seen."""
        self.missing.clear()
        self.duplicates = self.out_of_order = 0
