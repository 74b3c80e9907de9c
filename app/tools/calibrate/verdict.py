"""What the rows amount to, in one code and the figures that its sentence needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from app.tools.calibrate.row import CheckResult, CheckRow

MS = "ms"

ASYMMETRIC = "asymmetric"
"""A way back that is slower than the way there moves the estimate by half of the difference; the bound must hold that."""


class Judgement(StrEnum):
    """Of the whole instrument on this machine."""

    RIGHT = "right"
    WIDE = "wide"
    """Nothing was wrong, but a bound was too wide to be of use: the machine cannot hold it."""
    WRONG = "wrong"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judgement and the largest errors behind it."""

    judgement: Judgement
    error_ms: Mapping[str, float] = field(default_factory=dict)
    """The largest error of each part that is told in ms; `asymmetric` stands apart, where an error is what is injected."""
    bound_ms: Mapping[str, float] = field(default_factory=dict)
    """The widest bound of each."""
    miscounted: int = 0
    """Notifications that were counted wrongly, all rows of counts together."""
    stamps_inside: int = 0
    stamps: int = 0
    """Single stamps whose bound was tried, and how many lay inside theirs."""


def verdict(rows: Sequence[CheckRow]) -> Verdict:
    """The verdict of all rows; of none it is wrong, since nothing was shown."""
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
