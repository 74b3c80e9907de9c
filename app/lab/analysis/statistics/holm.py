"""Holm's step-down: several tests of one family at one error rate, with the interval level that each one gets.

Source: Holm, Scand. J. Statist. 6 (1979). In ascending order, the i-th of m p-values is compared with
alpha / (m - i + 1); at the first that is larger, the rest stand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class HolmStep:
    """What the procedure says of one test."""

    rejected: bool
    adjusted_p: float
    """At most alpha if and only if rejected."""
    level: float
    """The interval of this level excludes 0 if and only if rejected, for an interval that inverts the same test.

    It is one minus the limit of the step at which the test was decided; tests that were never reached get the
    level of the step that stopped, and equal p-values the stricter level. Such intervals agree with the
    decisions; they are no simultaneous region, which Holm's procedure does not have (Strassburger and Bretz, Stat. Med. 27,
    2008).
    """


def holm(p_values: Sequence[float], *, alpha: float = 0.05) -> tuple[HolmStep, ...]:
    """A step for each p-value, in the order given."""
    count = len(p_values)
    order = sorted(range(count), key=lambda index: p_values[index])
    steps: dict[int, HolmStep] = {}
    adjusted, limit, stopped = 0.0, 0.0, False
    previous: float | None = None
    for place, index in enumerate(order):
        p = p_values[index]
        if not stopped and p != previous:
            limit = alpha / (count - place)
        adjusted = max(adjusted, min(1.0, (count - place) * p))
        stopped = stopped or p > limit + _ROUNDING
        steps[index] = HolmStep(not stopped, adjusted, 1 - limit)
        previous = p
    return tuple(steps[index] for index in range(count))
