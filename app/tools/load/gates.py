"""Gates: `name(<|<=|==|>=|>)number`, and their outcomes. A gate must hold for every transport at every level.

    delay_ms_p95<100    lost==0    errors==0    connect_ms_p95<=500

A gate whose figure is missing at a level was missed: what was not measured is no success. A gate is not judged where
nothing was measured, where the generator is invalid, and where it held only in the part of a run that broke off.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import isfinite

from app.core.errors import Malformed
from app.core.gate_verdict import GateVerdict
from app.core.messages import Message
from app.tools.load.levels import FIGURES, Level

_FORM = re.compile(r"\s*([A-Za-z][A-Za-z0-9_]*)\s*(<=|>=|==|<|>)\s*([0-9]+(?:\.[0-9]+)?)\s*")

_HOLDS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    ">=": operator.ge,
    ">": operator.gt,
}


@dataclass(frozen=True, slots=True)
class Gate:
    """A condition on one figure."""

    name: str
    """A key of `FIGURES`."""
    sign: str
    limit: float

    def __str__(self) -> str:
        """Return the gate in the form that `parse_gate` reads: all digits, without an exponent."""
        return f"{self.name}{self.sign}{Decimal(repr(self.limit)).normalize():f}"

    def holds(self, value: float | None) -> bool:
        """Return whether a figure satisfies the gate; a missing one does not."""
        return value is not None and _HOLDS[self.sign](value, self.limit)


@dataclass(frozen=True, slots=True)
class GateOutcome:
    """The result of a gate after the run."""

    gate: Gate
    verdict: GateVerdict
    worst: float | None
    """The figure that is furthest from holding; `None` if one is missing."""
    where: Message | None
    """Transport and users of that figure; `None` if nothing was measured."""
    reason: Message
    """Sentence: why it was missed or not judged, or by how much it held."""


def parse_gate(text: str) -> Gate:
    """Parse a gate. Raises `Malformed`, which lists the valid names."""
    match = _FORM.fullmatch(text)
    names = ", ".join(FIGURES)
    if match is None:
        raise Malformed(
            f"{text[:80]!r} is no gate: write a name, one of < <= == >= >, and a number, as in "
            f"'delay_ms_p95<100'. Names: {names}."
        )
    name, sign, limit = match[1], match[2], float(match[3])
    if name not in FIGURES:
        raise Malformed(f"A gate has no figure {name!r}. Names: {names}.")
    if not isfinite(limit):
        raise Malformed(f"The limit of {text[:80]!r} is too large to be a number.")
    return Gate(name, sign, limit)


def judge(
    gate: Gate, levels: Sequence[Level], *, is_valid: bool = True, is_complete: bool = True
) -> GateOutcome:
    """Return the outcome of a gate over all levels. `is_valid`: the generator; `is_complete`: the run."""
    if not levels:
        reason = Message("load.gate.nothing", {"gate": str(gate)})
        return GateOutcome(gate, GateVerdict.NOT_JUDGED, worst=None, where=None, reason=reason)
    figures = [(level, FIGURES[gate.name].of(level)) for level in levels]
    missed = [(level, value) for level, value in figures if not gate.holds(value)]
    level, value = _worst(gate, missed or figures)
    verdict = GateVerdict.MISSED if missed else GateVerdict.HELD
    key = "held" if not missed else "missed" if len(figures) == 1 else "missed_of"
    # A gate must hold at every level, so a part of the levels can prove that it was missed, not that it held.
    if not is_valid or (not is_complete and not missed):
        verdict, key = GateVerdict.NOT_JUDGED, "not_judged"
    figure = _figure(value, FIGURES[gate.name].unit)
    counts = {"missed": len(missed), "levels": len(figures)}
    args = {"gate": str(gate), "figure": figure, "where": level.title, **counts}
    reason = Message(f"load.gate.{key}", args)
    return GateOutcome(gate, verdict, worst=value, where=level.title, reason=reason)


def _figure(value: float | None, unit: str) -> Message | int:
    if value is None:
        return Message("load.not_measured")
    return Message("load.figure", {"value": float(value), "unit": unit}) if unit else round(value)


def _worst(gate: Gate, figures: Sequence[tuple[Level, float | None]]) -> tuple[Level, float | None]:
    """Return the level whose figure is furthest on the wrong side; a missing figure is the worst."""

    def badness(pair: tuple[Level, float | None]) -> float:
        value = pair[1]
        if value is None:
            return float("inf")
        if gate.sign == "==":
            return abs(value - gate.limit)
        return value - gate.limit if gate.sign.startswith("<") else gate.limit - value

    return max(figures, key=badness)
