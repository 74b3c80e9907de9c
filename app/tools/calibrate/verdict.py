"""Summary of the rows: one judgement, and the figures that its sentence needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from app.tools.calibrate.row import CheckResult, CheckRow

MS = "ms"

ASYMMETRIC = "asymmetric"
"""A way back that is slower than the way there shifts the estimate by half of the difference, which the bound must cover."""


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
