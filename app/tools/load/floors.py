"""The floors of one level: the neutral source once beside each trial, so that a machine that changes meanwhile shows.

One floor before everything would say what the machine was like then. Beside each trial, in its block, the floor is
interleaved like the transports themselves: what moves it has moved the trials beside it too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from app.lab.analysis.statistics.quantile import median
from app.lab.analysis.words import TRANSPORT_TITLES, number
from app.tools.load.trial_line import FloorLine

MOVED_FACTOR = 1.5
"""Between the lowest and the highest of a level. A floor is a median of a broadcast to all users: on a machine that is
left alone it repeats within a tenth or two, and half as much again is something else that ran."""

MOVED_MS = 0.2
"""And at least so far: with a handful of users a floor is tenths of a millisecond, of which one switch is a half."""

FAILED_SHARE_MAX = 0.5
"""Of a level's floors. A machine may hiccup in one block; one that does in most is not fit."""


@dataclass(frozen=True, slots=True)
class Floors:
    """What the neutral source showed of one transport at one count of users."""

    transport: str
    users: int
    lines: tuple[FloorLine, ...]

    @property
    def medians_ms(self) -> list[float]:
        """Of each that measured anything."""
        return [each.delay_ms_p50 for each in self.lines if each.delay_ms_p50 is not None]

    @property
    def median_ms(self) -> float | None:
        """The median of their medians."""
        return median(self.medians_ms) if self.medians_ms else None

    @property
    def range_ms(self) -> tuple[float, float] | None:
        """The lowest and the highest of their medians; `None` for fewer than two."""
        return (min(self.medians_ms), max(self.medians_ms)) if len(self.medians_ms) > 1 else None

    @property
    def tail_ms(self) -> float | None:
        """The median of their 99th percentiles."""
        tails = [each.delay_ms_p99 for each in self.lines if each.delay_ms_p99 is not None]
        return median(tails) if tails else None

    @property
    def has_moved(self) -> bool:
        """Whether the machine was another one between two blocks."""
        if self.range_ms is None:
            return False
        low, high = self.range_ms
        return high > MOVED_FACTOR * low and high - low > MOVED_MS

    @property
    def failed(self) -> tuple[FloorLine, ...]:
        """Those at which the generator did not prove itself."""
        return tuple(each for each in self.lines if each.troubles)

    @property
    def troubles(self) -> tuple[str, ...]:
        """Why the generator is not to be believed at this level, in sentences; empty when it is."""
        if len(self.failed) <= FAILED_SHARE_MAX * len(self.lines):
            return ()
        # Of the one that tells most: each block's own figures would say the same over and over.
        told = max(self.failed, key=lambda each: len(each.troubles))
        return tuple(f"Against the neutral source, {self._where}: {text}" for text in told.troubles)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a reader should know and nothing is void by."""
        found = []
        if self.failed and not self.troubles:
            found.append(
                f"The floor of {self._where} failed in {len(self.failed)} of {len(self.lines)} blocks; their trials are "
                "judged by rules of their own."
            )
        if self.has_moved and self.range_ms is not None:
            low, high = self.range_ms
            found.append(
                f"The floor of {self._where} moved between blocks, from {number(low)} to {number(high)} ms: something "
                "else ran on this machine for a part of the time."
            )
        return tuple(found)

    @property
    def _where(self) -> str:
        plural = "" if self.users == 1 else "s"
        return f"{TRANSPORT_TITLES[self.transport]} with {self.users} user{plural}"


def floors_of(lines: Iterable[FloorLine]) -> dict[tuple[str, int], Floors]:
    """By transport and users, users ascending."""
    found: dict[tuple[str, int], list[FloorLine]] = {}
    for line in lines:
        found.setdefault((line.transport, line.users), []).append(line)
    return {
        (transport, users): Floors(transport, users, tuple(own))
        for (transport, users), own in sorted(found.items(), key=lambda each: (each[0][1], each[0][0]))
    }
