"""Floors of one level: one measurement next to each trial, so that a change of the machine during the run shows.

A single floor before the run would describe the machine at that time only. Measured in each trial's block, the floors
are interleaved like the transports: what changed a floor has changed the trials next to it too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from app.core.messages import Message
from app.lab.analysis.statistics.quantile import median
from app.lab.analysis.validity.trial_warnings import seen
from app.lab.analysis.words import TRANSPORT_TITLES
from app.tools.load.trial_line import FloorLine

MOVED_FACTOR = 1.5
"""Factor between the lowest and highest floor of a level that counts as a change. A floor is a median of broadcasts to
all users: on an idle machine it repeats within 10 to 20 %, so 50 % more means that something else ran."""

MOVED_MS = 0.2
"""Minimum difference, which applies as well: with few users a floor is some 0.1 ms, and one context switch is half of
it."""

FAILED_SHARE_MAX = 0.5
"""Share of a level's floors that may fail. A machine may stall in one block; one that stalls in most is not fit."""


@dataclass(frozen=True, slots=True)
class Floors:
    """All floors of one transport with one number of users."""

    transport: str
    users: int
    lines: tuple[FloorLine, ...]

    @property
    def medians_ms(self) -> list[float]:
        """Medians of the floors that have one."""
        return [each.delay_ms_p50 for each in self.lines if each.delay_ms_p50 is not None]

    @property
    def median_ms(self) -> float | None:
        """Median of the floors' medians."""
        return median(self.medians_ms) if self.medians_ms else None

    @property
    def range_ms(self) -> tuple[float, float] | None:
        """Lowest and highest median; `None` for fewer than two."""
        return (min(self.medians_ms), max(self.medians_ms)) if len(self.medians_ms) > 1 else None

    @property
    def tail_ms(self) -> float | None:
        """Median of the floors' 99th percentiles."""
        tails = [each.delay_ms_p99 for each in self.lines if each.delay_ms_p99 is not None]
        return median(tails) if tails else None

    @property
    def has_moved(self) -> bool:
        """True if the floors differ by more than `MOVED_FACTOR` and `MOVED_MS`: the machine has changed."""
        if self.range_ms is None:
            return False
        low, high = self.range_ms
        return high > MOVED_FACTOR * low and high - low > MOVED_MS

    @property
    def failed(self) -> tuple[FloorLine, ...]:
        """The floors with which the generator did not prove itself."""
        return tuple(each for each in self.lines if each.warnings)

    @property
    def troubles(self) -> tuple[Message, ...]:
        """Reasons why the generator is invalid at this level; empty if it is valid."""
        if len(self.failed) <= FAILED_SHARE_MAX * len(self.lines):
            return ()
        # Those of the floor with most of them, because the others would repeat the same reasons.
        worst = max(self.failed, key=lambda each: len(each.warnings))
        return tuple(
            Message("load.trouble_floor", {"where": self._where, "why": seen(each)})
            for each in worst.warnings
        )

    @property
    def remarks(self) -> tuple[Message, ...]:
        """Remarks for the reader that invalidate nothing."""
        found = []
        if self.failed and not self.troubles:
            counts = {"failed": len(self.failed), "blocks": len(self.lines)}
            found.append(Message("load.floor_failed", {"where": self._where, **counts}))
        if self.has_moved and self.range_ms is not None:
            low_ms, high_ms = self.range_ms
            args = {"where": self._where, "low_ms": low_ms, "high_ms": high_ms}
            found.append(Message("load.floor_moved", args))
        return tuple(found)

    @property
    def _where(self) -> Message:
        return Message("load.where", {"arm": TRANSPORT_TITLES[self.transport], "users": self.users})


def floors_of(lines: Iterable[FloorLine]) -> dict[tuple[str, int], Floors]:
    """Group floors by transport and users, in ascending order of users."""
    found: dict[tuple[str, int], list[FloorLine]] = {}
    for line in lines:
        found.setdefault((line.transport, line.users), []).append(line)
    return {
        (transport, users): Floors(transport, users, tuple(own))
        for (transport, users), own in sorted(found.items(), key=lambda each: (each[0][1], each[0][0]))
    }
