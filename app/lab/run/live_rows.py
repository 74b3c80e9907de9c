"""Running figures of a run for its progress display: each arm's rounds and median, and invalid repetitions in a row."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from app.core.trial import TrialRecord
from app.lab.analysis.columns import columns_of
from app.lab.analysis.statistics.quantile import median
from app.lab.analysis.words import arm_title


@dataclass(slots=True)
class LiveRow:
    """One arm's rounds until now. A round is a trial that is no idle window."""

    title: str
    rounds: int = 0
    valid: int = 0
    medians_ms: list[float] = field(default_factory=list)
    """Median delays of the valid rounds; of all rounds as long as none is valid."""

    @property
    def median_ms(self) -> float | None:
        """Return the median of the rounds' medians; `None` before the first delay."""
        return median(self.medians_ms)


@dataclass(slots=True)
class LiveRows:
    """The rows of all arms, in the order in which the arms were measured first."""

    rows: dict[str, LiveRow] = field(default_factory=dict)

    def add(self, record: TrialRecord, *, is_valid: bool) -> None:
        """Take a finished trial into its arm's row; idle windows are ignored."""
        if record.spec.idle:
            return
        arm = record.spec.arm
        row = self.rows.setdefault(arm.name, LiveRow(arm_title(arm)))
        row.rounds += 1
        if is_valid and not row.valid:
            row.medians_ms.clear()  # They were of invalid rounds, shown for want of better ones.
        row.valid += is_valid
        if is_valid or not row.valid:
            columns = columns_of(record.deliveries)
            delays_ms = columns.delay_ms[columns.is_sample]
            if len(delays_ms):
                row.medians_ms.append(float(np.median(delays_ms)))


IN_A_ROW = 3
"""Number of invalid repetitions in a row after which the user is told."""


@dataclass(slots=True)
class InvalidStreak:
    """Counts repetitions (blocks) in a row that are invalid."""

    _block: tuple[int, int] | None = None
    _is_valid: bool = True
    _length: int = 0

    def add(self, record: TrialRecord, *, is_valid: bool) -> bool:
        """Take a finished trial or idle window; return True at the moment when `IN_A_ROW` repetitions were invalid."""
        block = (record.spec.clients, record.spec.block)
        if block != self._block:
            if self._is_valid:
                self._length = 0
            self._block, self._is_valid = block, True
        if is_valid or not self._is_valid:
            return False
        self._is_valid = False
        self._length += 1
        return self._length == IN_A_ROW
