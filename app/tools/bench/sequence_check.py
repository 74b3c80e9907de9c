"""One connection's account: what it got of what was published, exactly once and in order.

1. The common case, the next offset or a run of them, is one comparison in the swarm's loop (`last`).
2. Everything else comes here: a hole is remembered until it is filled, late or never.
"""

from __future__ import annotations

from collections.abc import Iterable


class SequenceCheck:
    """What went wrong on one connection."""

    __slots__ = ("duplicates", "last", "missing", "out_of_order")

    def __init__(self, last: int) -> None:
        self.last = last
        """The highest offset that was seen."""
        self.missing: set[int] = set()
        """Offsets below `last` that did not come."""
        self.duplicates = 0
        self.out_of_order = 0

    def take(self, offsets: Iterable[int]) -> int:
        """Count offsets as they come; answers how many of them were new."""
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
        """How many up to `expected_last` have not come."""
        return len(self.missing) + max(0, expected_last - self.last)

    def restart(self) -> None:
        """A new window begins behind what was seen."""
        self.missing.clear()
        self.duplicates = self.out_of_order = 0
