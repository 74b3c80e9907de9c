"""A swarm's record of a window: one row per read, and the result computed from the rows at its end."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat

RESOLUTION_US = 10
"""Resolution of delays: precise compared with milliseconds, and compact to transfer."""

ROW_BYTES = 4 * array("q").itemsize
"""Memory per read until the window ends."""

UNKNOWN_ARRIVAL = 0
"""Placeholder for the arrival of data that may have come in several writes: the kernel stamps only the last one."""

STAMPS_MISSING_MAX = 0.01
"""Maximum share of reads without a kernel stamp; the same limit as for load tests."""

CLOCK_STEP_MAX_US = 100
"""Maximum step of the system clock, which the kernel stamps with, within a window."""

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
"""Counts of a window, which are added up over swarms."""


class Record:
    """Rows of (arrival, reading, first offset, number of offsets), stored as arrays of integers only."""

    def __init__(self) -> None:
        self.arrivals_us = array("q")
        """Time at which the kernel received the last byte; `clock.monotonic_us`, like all stamps here."""
        self.reads_us = array("q")
        self.firsts = array("q")
        self.counts = array("q")

    def add_each(self, arrival_us: int, read_us: int, offsets: Iterable[int]) -> None:
        """Add the offsets of one read: a row for each consecutive run."""
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
        """Count deliveries by delay until they were read, in steps of `RESOLUTION_US`.

        Those outside the window are left out. `starts_us`: when each publish began, from `first_offset` on.
        """
        return _delays(self.reads_us, self.firsts, self.counts, first_offset, starts_us)

    def delays(self, first_offset: int, starts_us: Sequence[int], *, merges: bool) -> Counter[int]:
        """Count deliveries by delay until the kernel received them, as far as that is known.

        A read's stamp is that of its last byte. If the server `merges`, data of one read came in one write, except if
        it may have been unread for long (`UNKNOWN_ARRIVAL`). If each notification has a write of its own, the stamp is
        the last one's; the others of that read are left out.
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
    """Result of a window over all connections; results of several swarms are added up."""

    connections: int = 0
    lost: int = 0
    duplicates: int = 0
    out_of_order: int = 0
    disconnects: int = 0
    torn: int = 0
    """Disconnections without an orderly end by the server."""
    idle: int = 0
    """Heartbeats, and pings that were answered."""
    reads: int = 0
    unstamped: int = 0
    """Reads without a kernel stamp, whose time of reading is used instead."""
    clock_step_us: int = 0
    """Step of the clock of the kernel's stamps in the window."""
    last_read_us: int = 0
    """CLOCK_MONOTONIC; 0: nothing arrived."""
    busy: float = 0.0
    """Utilisation of one core by the busiest swarm."""
    failures: list[str] = field(default_factory=list)
    """Reasons why connections with invalid data were closed; up to three per swarm."""
    delays: Counter[int] = field(default_factory=Counter)
    """Delays until the subscriber's kernel received the notification, as far as that is known (`Record.delays`)."""
    read_delays: Counter[int] = field(default_factory=Counter)
    """Delays until the subscriber read the notification, including the time for the subscribers before it."""

    @property
    def delivered(self) -> int:
        """Number of the window's notifications that arrived, over all connections."""
        return self.read_delays.total()

    @property
    def shared(self) -> int:
        """Deliveries that were, or may have been, read together with a later one, so that their arrival is unknown."""
        return self.delivered - self.delays.total()

    def add(self, answer: Mapping[str, object]) -> None:
        """Add the answer of one swarm process."""
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
        """Return why this window is invalid: losses, duplicates, disorder, broken connections, missing stamps."""
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
        ):  # If all are missing, this kernel has no stamps at all.
            found.append(f"the kernel did not say when {self.unstamped} of {self.reads} reads had come")
        if self.clock_step_us > CLOCK_STEP_MAX_US:
            found.append(f"the clock was set by {self.clock_step_us / 1000:.3g} ms")
        # Listed separately: otherwise, an invalid frame would look like a disconnection by the server.
        return [*found, *(f"what cannot be read came: {each}" for each in dict.fromkeys(self.failures))]


def quantile_ms(delays: Counter[int], share: float) -> float | None:
    """Return the smallest delay that `share` of the deliveries do not exceed; `None` if there are none."""
    rank, seen = share * delays.total(), 0
    for step in sorted(delays):
        seen += delays[step]
        if seen >= rank:
            return step * RESOLUTION_US / 1000
    return None
