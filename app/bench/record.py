"""What a swarm keeps of a window: one row per read, and what it makes of the rows at the window's end."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

RESOLUTION_US = 10
"""Delays are counted in steps of this: exact enough beside milliseconds, and small to hand over."""

ROW_BYTES = 3 * array("q").itemsize
"""What is kept of a read until the window ends."""


class Record:
    """Rows of (stamp, first offset, how many offsets): arrays of integers, nothing else per read."""

    def __init__(self) -> None:
        self.stamps_us = array("q")
        self.firsts = array("q")
        self.counts = array("q")

    def add_each(self, stamp_us: int, offsets: Iterable[int]) -> None:
        """Offsets that are no run."""
        for offset in offsets:
            self.stamps_us.append(stamp_us)
            self.firsts.append(offset)
            self.counts.append(1)

    def delays(self, first_offset: int, starts_us: Sequence[int]) -> Counter[int]:
        """Deliveries by delay, in steps of `RESOLUTION_US`; those outside of the window are left out.

        `starts_us`: when each publish began, from `first_offset` on.
        """
        found: Counter[int] = Counter()
        for stamp_us, first, count in zip(self.stamps_us, self.firsts, self.counts, strict=True):
            for index in range(first - first_offset, first - first_offset + count):
                if 0 <= index < len(starts_us):
                    found[(stamp_us - starts_us[index]) // RESOLUTION_US] += 1
        return found


@dataclass(slots=True)
class WindowResult:
    """What a window came to, over all connections; those of several swarms add up."""

    connections: int = 0
    lost: int = 0
    duplicates: int = 0
    out_of_order: int = 0
    disconnects: int = 0
    idle: int = 0
    """Heartbeats, and pings that were answered."""
    reads: int = 0
    last_read_us: int = 0
    """CLOCK_MONOTONIC; 0: nothing came."""
    busy: float = 0.0
    """Share of one core that the busiest swarm used."""
    failures: list[str] = field(default_factory=list)
    """Why connections were given up that sent what cannot be read, in words; up to three of each swarm."""
    delays: Counter[int] = field(default_factory=Counter)

    @property
    def delivered(self) -> int:
        """Deliveries whose delay is known."""
        return self.delays.total()

    def add(self, answer: Mapping[str, object]) -> None:
        """One swarm's answer, as its process wrote it."""
        for name in ("connections", "lost", "duplicates", "out_of_order", "disconnects", "idle", "reads"):
            setattr(self, name, getattr(self, name) + answer[name])
        self.last_read_us = max(self.last_read_us, int(str(answer["last_read_us"])))
        self.busy = max(self.busy, float(str(answer["busy"])))
        failures, delays = answer["failures"], answer["delays"]
        assert isinstance(failures, list)
        assert isinstance(delays, dict)
        self.failures += failures
        self.delays.update({int(step): int(count) for step, count in delays.items()})

    def quantile_ms(self, share: float) -> float | None:
        """The smallest delay that `share` of the deliveries do not exceed."""
        rank, seen = share * self.delivered, 0
        for step in sorted(self.delays):
            seen += self.delays[step]
            if seen >= rank:
                return step * RESOLUTION_US / 1000
        return None

    def problems(self) -> list[str]:
        """Why this window is not valid: nothing may be lost, doubled, out of order or cut off."""
        counted = {
            "lost": self.lost,
            "duplicate": self.duplicates,
            "out of order": self.out_of_order,
            "disconnected": self.disconnects,
        }
        found = [f"{count} {name}" for name, count in counted.items() if count]
        # Words of its own, or a frame that is none would look like a server that hung up.
        return [*found, *(f"what cannot be read came: {each}" for each in dict.fromkeys(self.failures))]
