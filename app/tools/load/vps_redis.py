"""CPU time of Redis per notification. Redis runs on the server's core, but no figure of the server includes it.

The figure is its process's CPU over the whole window of a trial, divided by all notifications that reached a user. It
includes other work: PING, polling by idle servers, cached answers. The configuration without Redis shows that part in the
same block, so the difference to it is the cost of notifications alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.tools.load.levels import Level
from app.tools.load.probe_line import ProbeLine
from app.tools.load.trial_line import TrialLine

Place = tuple[str, int, int]
"""Arm, users and block."""


def redis_cpu_us(levels: Sequence[Level], probes: Sequence[ProbeLine]) -> Mapping[Place, float]:
    """Return microseconds per notification that reached a user, for each valid trial with a known CPU time."""
    used_s = {(each.arm, each.users, each.block): each.probed.redis_cpu_s for each in probes}
    found: dict[Place, float] = {}
    for line in (line for level in levels for line in level.believed):
        place = line.arm, line.users, line.block
        cpu_s, arrived = used_s.get(place), _arrived(line)
        if cpu_s is not None and arrived > 0:
            found[place] = 1e6 * cpu_s / arrived
    return found


def _arrived(line: TrialLine) -> int:
    """Return the number of arrivals including warm-up, because the CPU time of the window includes it too."""
    never_connected = line.notifications * (line.users - line.connected)
    return line.published * line.connected - max(0, line.lost - never_connected)
