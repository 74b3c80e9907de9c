"""What Locust's users received, put in order: arrivals by client, what the generator added, and whose stamps are missing.

A kernel stamp is an arrival's own where its read held one notification. Where it held several, or the kernel gave none,
the arrival counts from the read, which can only be later.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from app.lab.run.clients import Arrival
from app.tools.load.generators import REPLAYED, SHARED, GeneratorRow

SelfUs = Mapping[tuple[int, int], float]
"""What the generator added to an arrival, by client and seq: handler minus kernel."""


@dataclass(frozen=True, slots=True)
class Stamps:
    """Of the arrivals that have a delay: first ones, replays aside.

    What comes again, or comes late because a connection broke, is the server's doing and says nothing about stamps.
    """

    arrivals: int = 0
    missing: int = 0
    """How many have no kernel stamp of their own."""
    shared: int = 0
    """How many of those came with others in one read."""


@dataclass(frozen=True, slots=True)
class Arrived:
    """All that arrived in a trial."""

    by_client: dict[int, tuple[Arrival, ...]] = field(default_factory=dict)
    """In the order in which it was read, received when the *kernel* received it: the generator's share is not in it."""
    self_us: SelfUs = field(default_factory=dict)
    """Of the arrivals that have a delay and a stamp of their own."""
    stamps: Stamps = field(default_factory=Stamps)


def arrived(rows: Iterable[GeneratorRow]) -> Arrived:
    """The rows of all processes, each in the order in which it read."""
    by_client: dict[int, list[Arrival]] = {}
    self_us: dict[tuple[int, int], float] = {}
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
            self_us[place] = (row.read_ns - row.kernel_ns) / 1000
    return Arrived(
        {client: tuple(own) for client, own in by_client.items()}, self_us, Stamps(count, missing, shared)
    )
