"""A row of the result: true value, measured value, the stated bound of its error, and whether it was kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from app.core.clocksync.sync import BOUND_MAX_US
from app.tools.calibrate.case import Part

BOUND_MS_MAX = BOUND_MAX_US / 1000
"""U_max (measurement.md, section 1): a run discards delays with a wider bound, so such a bound is of no use here either."""


class CheckResult(StrEnum):
    """Whether the instrument's error was within its stated bound."""

    RIGHT = "right"
    WRONG = "wrong"
    """The error exceeds the stated bound."""
    WIDE = "wide"
    """The bound is too wide to be useful: the machine is too busy or too slow."""


@dataclass(frozen=True, slots=True)
class CheckRow:
    """One injected value and its measurement."""

    part: Part
    code: str
    """Its description is `row.<code>` of the catalogue."""
    transport: str
    unit: str
    """`ms`, or `notifications` for counts."""
    true: float
    measured: float | None
    """`None` if nothing arrived that could be measured."""
    bound: float
    """Largest error that the instrument itself allows for `measured`; 0 for counts."""
    places: Mapping[str, object] = field(default_factory=dict)
    """Values for the placeholders of its description."""
    inside: tuple[int, int] | None = None
    """Single stamps within their own bound: (number within, number of all); `None` if only the figure is judged."""

    @property
    def error(self) -> float | None:
        """Measured minus true; `None` if nothing was measured."""
        return None if self.measured is None else self.measured - self.true

    @property
    def state(self) -> CheckResult:
        """The row's result. An error beyond the bound is wrong, however wide the bound is."""
        if self.error is None or abs(self.error) > self.bound:
            return CheckResult.WRONG
        if self.inside is not None and self.inside[0] < self.inside[1]:
            return CheckResult.WRONG
        return CheckResult.WIDE if self.unit == "ms" and self.bound > BOUND_MS_MAX else CheckResult.RIGHT
