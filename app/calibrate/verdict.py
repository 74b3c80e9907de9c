"""What the rows amount to, in one code and the figures that its sentence needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from app.calibrate.case import Part
from app.calibrate.row import Row, State

MS = "ms"


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
    error_ms: Mapping[Part, float] = field(default_factory=dict)
    """The largest error of each part that is told in ms."""
    bound_ms: Mapping[Part, float] = field(default_factory=dict)
    """The widest bound of each."""
    miscounted: int = 0
    """Notifications that were counted wrongly, all rows of counts together."""
    stamps_inside: int = 0
    stamps: int = 0
    """Single stamps whose bound was tried, and how many lay inside theirs."""


def verdict(rows: Sequence[Row]) -> Verdict:
    """The verdict of all rows; of none it is wrong, since nothing was shown."""
    states = {row.state for row in rows}
    if not rows or State.WRONG in states:
        judgement = Judgement.WRONG
    else:
        judgement = Judgement.WIDE if State.WIDE in states else Judgement.RIGHT
    in_ms = [row for row in rows if row.unit == MS]
    parts = dict.fromkeys(row.part for row in in_ms)
    tried = [row.inside for row in rows if row.inside is not None]
    return Verdict(
        judgement,
        error_ms={part: max(abs(row.error or 0.0) for row in in_ms if row.part is part) for part in parts},
        bound_ms={part: max(row.bound for row in in_ms if row.part is part) for part in parts},
        miscounted=round(sum(abs(row.error or 0.0) for row in rows if row.unit != MS)),
        stamps_inside=sum(inside for inside, _ in tried),
        stamps=sum(of for _, of in tried),
    )
