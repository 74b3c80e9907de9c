"""A confidence interval, whichever method computed it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval; its ends are `None` when there are too few values for its level."""

    low: float | None
    high: float | None
    level: float
    """The nominal confidence level; the coverage is at least this."""

    def excludes(self, value: float) -> bool:
        """Return True if the interval exists and lies wholly above or below `value`."""
        return self.low is not None and self.high is not None and (self.low > value or self.high < value)

    def is_within(self, margin: float) -> bool:
        """Return True if the interval exists and lies wholly inside `-margin` to `+margin`."""
        return self.low is not None and self.high is not None and -margin <= self.low and self.high <= margin
