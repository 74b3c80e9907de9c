"""Capacity found by a ramp: the largest number of users at which every gate held, and why the ramp ended there.

Only levels with a valid generator count. If the generator becomes invalid before a gate is missed, the server might
have handled more users: the result is a lower bound, and is reported as one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from app.tools.load.gates import Gate
from app.tools.load.levels import FIGURES, Level


@dataclass(frozen=True, slots=True)
class Capacity:
    """Capacity of one transport."""

    users: int | None
    """Largest number of users at which every gate held, as at every level below; `None`: no level."""
    gave_out_at: int | None = None
    """Number of users at which the generator became invalid, if that ended the ramp; `None`: a gate did, or nothing."""

    @property
    def is_unknown(self) -> bool:
        """True if the generator was invalid at the first level already: nothing is known of the server."""
        return self.users is None and self.gave_out_at is not None


def all_gates_hold(gates: Sequence[Gate], level: Level) -> bool:
    """Return whether every gate held at a level with a valid generator."""
    return bool(level.valid_trials) and all(gate.holds(FIGURES[gate.name].of(level)) for gate in gates)


def capacities(gates: Sequence[Gate], levels: Sequence[Level]) -> dict[str, Capacity]:
    """Return the capacities by arm."""
    found: dict[str, Capacity] = {}
    ended: set[str] = set()
    for level in sorted(levels, key=lambda each: each.users):
        so_far = found.setdefault(level.arm, Capacity(None))
        if level.arm in ended:
            continue
        if all_gates_hold(gates, level):
            found[level.arm] = Capacity(level.users)
        else:
            found[level.arm] = replace(so_far, gave_out_at=None if level.valid_trials else level.users)
            ended.add(level.arm)
    return found
