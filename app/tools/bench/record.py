"""What a swarm keeps of a window: one row per read, and what it makes of the rows at the window's end."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat

RESOLUTION_US = 10
"""Delays are counted in steps of this: exact enough beside milliseconds, and small to hand over."""

ROW_BYTES = 4 * array("q").itemsize
"""What is kept of a read until the window ends."""

UNKNOWN_ARRIVAL = 0
"""In place of a time of arrival: what was read may have come in several writes, of which the kernel tells the last one's."""

STAMPS_MISSING_MAX = 0.01
"""Share of reads without the kernel's stamp; the load runner's rule."""

CLOCK_STEP_MAX_US = 100
"""By which the system's clock, which the kernel stamps with, may be set within a window."""

COUNTS = (
    "connections",
    "lost",
    "duplicates",
    "out_of_order",
    "disconnects",
    "torn",
    "idle",
    "reads",
    "unstamped",
)
"""Of a window, what swarms add up."""


class Record:
    """Rows of (arrival, reading, first offset, how many offsets): arrays of integers, nothing else per read."""

    def __init__(self) -> None:
        self.arrivals_us = array("q")
        """When the kernel had the last byte; `clock.monotonic_us`, as all stamps here."""
        self.reads_us = array("q")
        self.firsts = array("q")
        self.counts = array("q")

    def add_each(self, arrival_us: int, read_us: int, offsets: Iterable[int]) -> None:
        """Offsets of one read, whatever they are: a row for each run of them."""
        following = None
        for offset in offsets:
            if offset == following:
                self.counts[-1] += 1
            else:
                self.arrivals_us.append(arrival_us)
                self.reads_us.append(read_us)
                self.firsts.append(offset)
                self.counts.append(1)
            following = offset + 1

    def read_delays(self, first_offset: int, starts_us: Sequence[int]) -> Counter[int]:
        """Deliveries by delay until they had been read, in steps of `RESOLUTION_US`.

        Those outside of the window are left out. `starts_us`: when each publish began, from `first_offset` on.
        """
        return _delays(self.reads_us, self.firsts, self.counts, first_offset, starts_us)

    def delays(self, first_offset: int, starts_us: Sequence[int], *, merges: bool) -> Counter[int]:
        """Likewise, until the kernel had them, of those of which that is known.

        A read's stamp is that of its last byte. Of a server that `merges` what came in one read came in one write, unless it
        may have lain there for long (`UNKNOWN_ARRIVAL`). Where each notification has a write of its own the stamp is the last
        one's: the others, which waited unread, are left out.
        """
        if merges:
            return _delays(self.arrivals_us, self.firsts, self.counts, first_offset, starts_us)
        lasts = (first + count - 1 for first, count in zip(self.firsts, self.counts, strict=True))
        return _delays(self.arrivals_us, lasts, repeat(1, len(self.counts)), first_offset, starts_us)


def _delays(
    stamps_us: Iterable[int],
    firsts: Iterable[int],
    counts: Iterable[int],
    first_offset: int,
    starts_us: Sequence[int],
) -> Counter[int]:
    found: Counter[int] = Counter()
    for stamp_us, first, count in zip(stamps_us, firsts, counts, strict=True):
        if stamp_us == UNKNOWN_ARRIVAL:
            continue
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
    torn: int = 0
    """Those of them that ended without the server's goodbye."""
    idle: int = 0
    """Heartbeats, and pings that were answered."""
    reads: int = 0
    unstamped: int = 0
    """Reads whose arrival the kernel did not tell: theirs is when they were read."""
    clock_step_us: int = 0
    """How far a swarm's clock that the kernel stamps with was set meanwhile."""
    last_read_us: int = 0
    """CLOCK_MONOTONIC; 0: nothing came."""
    busy: float = 0.0
    """Share of one core that the busiest swarm used."""
    failures: list[str] = field(default_factory=list)
    """Why connections were given up that sent what cannot be read, in words; up to three of each swarm."""
    delays: Counter[int] = field(default_factory=Counter)
    """Until the subscriber's kernel had it, of those of which that is known (`Record.delays`)."""
    read_delays: Counter[int] = field(default_factory=Counter)
    """Until the subscriber had read it: a swarm comes to each of thousands in its turn."""

    @property
    def delivered(self) -> int:
        """How many of the window's notifications came, over all connections."""
        return self.read_delays.total()

    @property
    def shared(self) -> int:
        """Deliveries that were, or may have been, read together with a later one, whose arrival is all that the kernel told."""
        return self.delivered - self.delays.total()

    def add(self, answer: Mapping[str, object]) -> None:
        """One swarm's answer, as its process wrote it."""
        for name in COUNTS:
            setattr(self, name, getattr(self, name) + answer[name])
        self.clock_step_us = max(self.clock_step_us, int(str(answer["clock_step_us"])))
        self.last_read_us = max(self.last_read_us, int(str(answer["last_read_us"])))
        self.busy = max(self.busy, float(str(answer["busy"])))
        failures = answer["failures"]
        assert isinstance(failures, list)
        self.failures += failures
        for name, found in (("delays", self.delays), ("read_delays", self.read_delays)):
            delays = answer[name]
            assert isinstance(delays, dict)
            found.update({int(step): int(count) for step, count in delays.items()})

    def problems(self) -> list[str]:
        """Why this window is not valid: nothing may be lost, doubled, out of order or cut off."""
        counted = {
            "lost": self.lost,
            "duplicate": self.duplicates,
            "out of order": self.out_of_order,
            "disconnected": self.disconnects,
            "torn": self.torn,
        }
        found = [f"{count} {name}" for name, count in counted.items() if count]
        if (
            STAMPS_MISSING_MAX * self.reads < self.unstamped < self.reads
        ):  # All: then this kernel tells nobody.
            found.append(f"the kernel did not say when {self.unstamped} of {self.reads} reads had come")
        if self.clock_step_us > CLOCK_STEP_MAX_US:
            found.append(f"the clock was set by {self.clock_step_us / 1000:.3g} ms")
        # Words of its own, or a frame that is none would look like a server that hung up.
        return [*found, *(f"what cannot be read came: {each}" for each in dict.fromkeys(self.failures))]


def quantile_ms(delays: Counter[int], share: float) -> float | None:
    """The smallest delay that `share` of the deliveries do not exceed; `None` without any."""
    rank, seen = share * delays.total(), 0
    for step in sorted(delays):
        seen += delays[step]
        if seen >= rank:
            return step * RESOLUTION_US / 1000
    return None
