"""What Redis itself uses for a notification. It runs on the server's core, and its CPU is in no figure of the server's.

Its process's CPU in a trial's whole window, over everything that reached a user in it. Other work is in there too: PING,
the servers that idle and ask for what is new, kept answers. The configuration without Redis shows that part, in the same
block; a difference to it is the notifications' own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.tools.load.levels import Level
from app.tools.load.probe_line import ProbeLine
from app.tools.load.trial_line import TrialLine

Place = tuple[str, int, int]
"""Arm, users and block."""


def redis_cpu_us(levels: Sequence[Level], probes: Sequence[ProbeLine]) -> Mapping[Place, float]:
    """Microseconds for each notification that reached a user, of the trials that are believed, where it is known."""
    used_s = {(each.arm, each.users, each.block): each.probed.redis_cpu_s for each in probes}
    found: dict[Place, float] = {}
    for line in (line for level in levels for line in level.believed):
        place = line.arm, line.users, line.block
        cpu_s, arrived = used_s.get(place), _arrived(line)
        if cpu_s is not None and arrived > 0:
            found[place] = 1e6 * cpu_s / arrived
    return found


def _arrived(line: TrialLine) -> int:
    """With the warm-up's, which Redis has worked for in the same window."""
    never_connected = line.notifications * (line.users - line.connected)
    return line.published * line.connected - max(0, line.lost - never_connected)
