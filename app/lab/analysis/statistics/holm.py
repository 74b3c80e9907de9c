"""Holm adjustment: one error rate for a family of tests, with the interval level of each.

Source: Holm, Scand. J. Statist. 6 (1979). In ascending order, the i-th of m p-values is compared with
alpha / (m - i + 1); from the first larger one on, no hypothesis is rejected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class HolmStep:
    """The outcome of the procedure for one test."""

    rejected: bool
    adjusted_p: float
    """The adjusted p-value: at most alpha if and only if the hypothesis is rejected."""
    level: float
    """The level at which an interval that inverts the same test excludes 0 if and only if the hypothesis is rejected.

    It is one minus the limit of the step that decided the test. Tests after the step that stopped get the level of
    that step, and equal p-values get the stricter level. Such intervals agree with the decisions. They are no
    simultaneous confidence region, which Holm's procedure does not have (Strassburger and Bretz, Stat. Med. 27, 2008).
    """


def holm(p_values: Sequence[float], *, alpha: float = 0.05) -> tuple[HolmStep, ...]:
    """Return the outcome for each p-value, in the order given."""
    count = len(p_values)
    order = sorted(range(count), key=lambda index: p_values[index])
    steps: dict[int, HolmStep] = {}
    adjusted, limit, stopped = 0.0, 0.0, False
    previous: float | None = None
    for rank, index in enumerate(order):
        p = p_values[index]
        if not stopped and p != previous:
            limit = alpha / (count - rank)
        adjusted = max(adjusted, min(1.0, (count - rank) * p))
        stopped = stopped or p > limit + _ROUNDING
        steps[index] = HolmStep(not stopped, adjusted, 1 - limit)
        previous = p
    return tuple(steps[index] for index in range(count))
