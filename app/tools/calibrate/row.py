"""A line of the result: what is true, what was measured, how far off it may be by its own word, and whether it was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from app.core.clocksync.sync import BOUND_MAX_US
from app.tools.calibrate.case import Part

BOUND_MS_MAX = BOUND_MAX_US / 1000
"""U_max (measurement.md, section 1): with a wider bound a run leaves its delays out, so it is no instrument here either."""


class CheckResult(StrEnum):
    """Whether the instrument kept its word."""

    RIGHT = "right"
    WRONG = "wrong"
    """Further off than its own bound."""
    WIDE = "wide"
    """Its bound is so wide that being inside says nothing: this machine is too busy, or too slow."""


@dataclass(frozen=True, slots=True)
class CheckRow:
    """One thing that was injected and measured."""

    part: Part
    code: str
    """Its words are `row.<code>` of the catalogue."""
    transport: str
    unit: str
    """`ms`, or `notifications` for what is counted."""
    true: float
    measured: float | None
    """`None`: nothing came that could have been measured."""
    bound: float
    """How far `measured` may be off, by what the instrument says of itself; 0 for what is counted."""
    places: Mapping[str, object] = field(default_factory=dict)
    """What its words are filled in with."""
    inside: tuple[int, int] | None = None
    """Of so many single stamps how many lay inside their own bound: (inside, of); `None` where only the figure is judged."""

    @property
    def error(self) -> float | None:
        """Measured minus true."""
        return None if self.measured is None else self.measured - self.true

    @property
    def state(self) -> CheckResult:
        """Wrong before wide: what breaks its word is wrong however wide that was."""
        if self.error is None or abs(self.error) > self.bound:
            return CheckResult.WRONG
        if self.inside is not None and self.inside[0] < self.inside[1]:
            return CheckResult.WRONG
        return CheckResult.WIDE if self.unit == "ms" and self.bound > BOUND_MS_MAX else CheckResult.RIGHT
