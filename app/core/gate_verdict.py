"""The verdict on a gate, of a load run or of a comparison of runs, and the exit code of several."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from app.core.exit_codes import EXIT_GATE, EXIT_OK, EXIT_UNFIT


class GateVerdict(StrEnum):
    """The verdict on one gate."""

    HELD = "held"
    MISSED = "missed"
    NOT_JUDGED = "not_judged"
    """Nothing was measured that could decide it. That is no success."""


def gates_exit_code(verdicts: Iterable[GateVerdict]) -> int:
    """Return 99 if a gate was missed, else 3 if one was not judged, else 0."""
    found = set(verdicts)
    if GateVerdict.MISSED in found:
        return EXIT_GATE
    return EXIT_UNFIT if GateVerdict.NOT_JUDGED in found else EXIT_OK
