"""A one-entry cache for results that several renderers need of the same analysis."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from app.lab.analysis.analyse import Analysis

Result = TypeVar("Result")


def computed_once(compute: Callable[[Analysis], Result]) -> Callable[[Analysis], Result]:
    """Wrap a function so that it computes once for consecutive calls with the same analysis object.

    Analyses are compared by identity, since comparing or hashing a million deliveries would cost more than it saves.
    """
    last: list[tuple[Analysis, Result]] = []

    @wraps(compute)
    def cached(analysis: Analysis) -> Result:
        if not last or last[0][0] is not analysis:
            last[:] = [(analysis, compute(analysis))]
        return last[0][1]

    return cached
