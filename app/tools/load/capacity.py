"""How far a ramp came: the most users that each transport bore, and whether a gate or the generator ended it there.

Only levels count at which the generator is to be believed. Where it gives out before a gate breaks, the server might have
borne more: what was found is a lower bound, and is said to be one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from app.tools.load.gates import Gate
from app.tools.load.levels import FIGURES, Level


@dataclass(frozen=True, slots=True)
class Capacity:
    """Of one transport."""

    users: int | None
    """The most at which every gate held, there and at every level below; `None`: at none."""
    gave_out_at: int | None = None
    """The users at which the generator was not to be believed, where that ended it; `None`: a gate did, or nothing."""

    @property
    def is_unknown(self) -> bool:
        """Whether the generator gave out at the first level: then nothing was found out about the server."""
        return self.users is None and self.gave_out_at is not None


def is_borne(gates: Sequence[Gate], level: Level) -> bool:
    """Whether every gate held at a level, with a generator that is to be believed there."""
    return bool(level.believed) and all(gate.holds(FIGURES[gate.name].of(level)) for gate in gates)


def capacities(gates: Sequence[Gate], levels: Sequence[Level]) -> dict[str, Capacity]:
    """By transport."""
    found: dict[str, Capacity] = {}
    ended: set[str] = set()
    for level in sorted(levels, key=lambda each: each.users):
        so_far = found.setdefault(level.arm, Capacity(None))
        if level.arm in ended:
            continue
        if is_borne(gates, level):
            found[level.arm] = Capacity(level.users)
        else:
            found[level.arm] = replace(so_far, gave_out_at=None if level.believed else level.users)
            ended.add(level.arm)
    return found
