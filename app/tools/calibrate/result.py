"""Result of a calibration: rows that compare a true with a measured value, and the verdict of all rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from app.core.clocksync.sync import BOUND_MAX_US
from app.tools.calibrate.case import Part

BOUND_MS_MAX = BOUND_MAX_US / 1000
"""U_max (measurement.md, section 1): a run discards delays with a wider bound, so such a bound is of no use here
either."""


class CheckResult(StrEnum):
    """Result of comparing the instrument's error with its stated bound."""

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


MS = "ms"

ASYMMETRIC = "asymmetric"
"""A way back that is slower than the way there shifts the estimate by half of the difference, which the bound must
cover."""


class Judgement(StrEnum):
    """Judgement of the whole instrument on this machine."""

    RIGHT = "right"
    WIDE = "wide"
    """Nothing was wrong, but a bound was too wide to be useful: this machine cannot keep it narrow."""
    WRONG = "wrong"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judgement and the largest errors behind it."""

    judgement: Judgement
    error_ms: Mapping[str, float] = field(default_factory=dict)
    """Largest error of each part measured in ms; `asymmetric` is separate, because that case injects an error."""
    bound_ms: Mapping[str, float] = field(default_factory=dict)
    """Widest bound of each part."""
    miscounted: int = 0
    """Number of notifications counted wrongly, summed over all rows of counts."""
    stamps_inside: int = 0
    stamps: int = 0
    """Number of single stamps that were checked, and in `stamps_inside` how many were within their bound."""


def verdict(rows: Sequence[CheckRow]) -> Verdict:
    """Return the verdict of all rows; without any row it is wrong, because nothing was shown."""
    states = {row.state for row in rows}
    if not rows or CheckResult.WRONG in states:
        judgement = Judgement.WRONG
    else:
        judgement = Judgement.WIDE if CheckResult.WIDE in states else Judgement.RIGHT
    by_part: dict[str, list[CheckRow]] = {}
    for row in rows:
        if row.unit == MS:
            by_part.setdefault(ASYMMETRIC if row.code == ASYMMETRIC else row.part.value, []).append(row)
    tried = [row.inside for row in rows if row.inside is not None]
    return Verdict(
        judgement,
        error_ms={part: max(abs(row.error or 0.0) for row in own) for part, own in by_part.items()},
        bound_ms={part: max(row.bound for row in own) for part, own in by_part.items()},
        miscounted=round(sum(abs(row.error or 0.0) for row in rows if row.unit != MS)),
        stamps_inside=sum(inside for inside, _ in tried),
        stamps=sum(of for _, of in tried),
    )
