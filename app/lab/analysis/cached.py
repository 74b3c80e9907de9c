"""An answer that several renderers need of the same analysis, computed once."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from app.lab.analysis.analyse import Analysis

Answer = TypeVar("Answer")


def kept(compute: Callable[[Analysis], Answer]) -> Callable[[Analysis], Answer]:
    """The function with its last answer kept, for as long as it is asked about the same analysis.

    The same object, that is: an analysis of a million deliveries is not compared with another one, nor hashed.
    """
    last: list[tuple[Analysis, Answer]] = []

    @wraps(compute)
    def answer(analysis: Analysis) -> Answer:
        if not last or last[0][0] is not analysis:
            last[:] = [(analysis, compute(analysis))]
        return last[0][1]

    return answer
