"""A confidence interval of any method."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval; without ends when there are too few values for its level."""

    low: float | None
    high: float | None
    level: float
    """Asked for; the exact coverage is at least this."""

    def excludes(self, value: float) -> bool:
        """Whether it exists and lies wholly above or below `value`."""
        return self.low is not None and self.high is not None and (self.low > value or self.high < value)

    def is_within(self, margin: float) -> bool:
        """Whether it exists and lies wholly inside `-margin` to `+margin`."""
        return self.low is not None and self.high is not None and -margin <= self.low and self.high <= margin
