"""Conversion of the rows that Locust's users recorded: arrivals by client, the generator's delay, missing stamps.

A kernel stamp belongs to an arrival if its read held one notification only. If it held several, or the kernel gave no
stamp, the arrival counts from the read, which can only be later.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from app.lab.run.clients import Arrival
from app.tools.load.generators import REPLAYED, SHARED, GeneratorRow

GeneratorDelaysUs = Mapping[tuple[int, int], float]
"""Generator delay of an arrival, by client and seq: read stamp minus kernel stamp."""


@dataclass(frozen=True, slots=True)
class Stamps:
    """Counts of stamps, over arrivals that have a delay: first arrivals that are not replays.

    Repeated arrivals, and replays after a broken connection, are caused by the server and say nothing about stamps.
    """

    arrivals: int = 0
    missing: int = 0
    """Number of arrivals without a kernel stamp of their own."""
    shared: int = 0
    """Number of those that were read together with others."""


@dataclass(frozen=True, slots=True)
class Arrived:
    """All arrivals of a trial."""

    by_client: dict[int, tuple[Arrival, ...]] = field(default_factory=dict)
    """Arrivals in the order of reading, stamped by the *kernel* if possible, so that the generator's delay is
    excluded."""
    generator_delays_us: GeneratorDelaysUs = field(default_factory=dict)
    """Generator delays, for arrivals that have a delay and a stamp of their own."""
    stamps: Stamps = field(default_factory=Stamps)


def arrived(rows: Iterable[GeneratorRow]) -> Arrived:
    """Convert the rows of all processes; each process's rows must be in the order of reading."""
    by_client: dict[int, list[Arrival]] = {}
    generator_delays_us: dict[tuple[int, int], float] = {}
    seen: set[tuple[int, int]] = set()
    count = missing = shared = 0
    for row in rows:
        is_shared, is_replayed = bool(row.flags & SHARED), bool(row.flags & REPLAYED)
        has_own = bool(row.kernel_ns) and not is_shared
        received_us = (row.kernel_ns if has_own else row.read_ns) // 1000
        kernel_us = row.kernel_ns / 1000 if has_own else None
        by_client.setdefault(row.client, []).append(
            Arrival(row.seq, row.offset, received_us, kernel_us, is_replayed)
        )
        place = row.client, row.seq
        is_first = place not in seen
        seen.add(place)
        if not is_first or is_replayed:
            continue
        count += 1
        missing += not has_own
        shared += is_shared
        if has_own:
            generator_delays_us[place] = (row.read_ns - row.kernel_ns) / 1000
    return Arrived(
        {client: tuple(own) for client, own in by_client.items()},
        generator_delays_us,
        Stamps(count, missing, shared),
    )
