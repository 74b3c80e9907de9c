"""The VPS study's experiment: its three configurations as arms of one run, interleaved in blocks.

    C1   order, history and broadcast within the process
    C2   the same over Redis: each notification gets its order there, and every server reads it from there
    C3   like C2, with answers to `GET /api/notifications` cached in Redis, at most until the next publish

Each has a server of its own; only the server of the current trial has users. The study (`purbaya-websocket-redis` in
`analysis/published.json`) ran each configuration once, one after another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from app.core.plan.scenario import Arm, Plan
from app.core.wire import TRANSPORT_SOCKETIO
from app.lab.analysis.comparison.margins import BLOCKS_MIN
from app.lab.analysis.words import TRANSPORT_TITLES
from app.tools.load.client_selector import LOCUST

NAME = "vps"
PRESETS = (NAME,)

USERS = (500,)
"""The spike of the study's stress test. `--users 100,300,500` measures its two plateaus too."""
QUICK_USERS = (20,)
QUICK_DURATION = "3s"
TRANSPORT = TRANSPORT_SOCKETIO
"""WebSocket, as in the study."""
BLOCKS = BLOCKS_MIN
"""The smallest number of blocks that gives a verdict on the cost of the extra hop."""

CACHE_TTL_S = 60
"""The study's value."""

MEMORY, REDIS, CACHED = "memory", "redis", "redis, cache"
"""Values of the factor `broker`; the run starts a server for each."""

CONFIGURATIONS = (("C1", "in memory", MEMORY), ("C2", "Redis", REDIS), ("C3", "Redis cached", CACHED))


def preset_plan(plan: Plan, transports: Sequence[str]) -> Plan:
    """Return the plan with the study's arms instead of one per transport."""
    arms = tuple(
        Arm(_name(code, words, transport, len(transports)), transport, _factors(broker))
        for transport in transports
        for code, words, broker in CONFIGURATIONS
    )
    return replace(plan, arms=arms, profile=f"{plan.profile}-{NAME}")


def column_of(arm: str) -> str:
    """Return the study's name of an arm's configuration."""
    return arm.split(" ", 1)[0]


def _name(code: str, words: str, transport: str, transports: int) -> str:
    return f"{code} {words}" + (f", {TRANSPORT_TITLES[transport]}" if transports > 1 else "")


def _factors(broker: str) -> dict[str, str | int | float | bool]:
    cache = {"cache_ttl_s": CACHE_TTL_S} if broker == CACHED else {}
    return {"generator": LOCUST, "broker": broker, **cache}
