"""The options of a load run, and the plan of its trials."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from app.core.client import POLLING
from app.core.errors import Malformed
from app.core.plan.scenario import Arm, Plan
from app.core.wire import TRANSPORT_SOCKETIO, TRANSPORTS
from app.tools.load.client_selector import BUILT_IN, LOCUST
from app.tools.load.gates import Gate
from app.tools.load.result import Kind

USERS_MAX = 20_000
BLOCKS = 6
"""The smallest number of blocks with which an exact two-sided test of block differences can reach p < 0.05."""
QUICK_BLOCKS = 3
EXTRA_BLOCKS_MIN = 3
WARMUP_S = 2.0
WARMUP_MAX = 20
"""Limit of warm-up notifications at high rates, where two seconds are longer than needed."""
IDLE_S, QUICK_IDLE_S = 3.0, 1.0
SETTLE_S = 1.0

USERS = (50, 500, 1000, 2000, 3000)
"""The published levels."""
SPIKE_USERS = (100, 300, 500, 300, 100)
"""Up and down through the stress profile of the VPS study; at each level all users connect at once."""
RAMP_USERS = (50, 100, 200, 400, 800, 1600, 3200, 6400, 12_800)
AGREEMENT_USERS = (1, 6, 100)
AGREEMENT_RATE_HZ = 10.0

SPIKE_SPAWN_RATE = 10_000.0
"""Connects all users within a second, as a spike requires."""

TRANSPORT_CHOICES = (*TRANSPORTS, POLLING)
"""Values of --transport: Socket.IO by long polling is the same transport over another protocol."""

_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|)")
_UNIT_S = {"ms": 0.001, "s": 1.0, "": 1.0, "m": 60.0}


@dataclass(frozen=True, slots=True)
class LoadOrder:
    """All options of a load run."""

    kind: Kind
    plan: Plan
    stages: tuple[int, ...]
    """Numbers of users of the stages, in order; empty for a run in blocks."""
    gates: tuple[Gate, ...]
    spawn_rate: float
    processes: int
    """Number of Locust's processes."""
    url: str | None
    """A server that runs already; `None`: start our own."""
    admin_token: str | None
    preset: str | None = None
    """A published experiment (`vps.py`), which has servers of its own."""


def parse_duration_s(text: str) -> float:
    """Parse a duration such as `20s`, `500ms`, `2m`, or a number of seconds. Raises `Malformed`."""
    match = _DURATION.fullmatch(text.strip())
    seconds = float(match[1]) * _UNIT_S[match[2]] if match else 0.0
    if not 0.5 <= seconds <= 3600:
        raise Malformed(f'--duration "{text}" is not a time from 500ms to 60m; write it as in 20s.')
    return seconds


def parse_users(text: str) -> tuple[int, ...]:
    """Parse numbers of users such as `50,500,1000`, keeping their order. Raises `Malformed`."""
    parts = [each.strip() for each in text.split(",") if each.strip()]
    if not parts or not all(each.isascii() and each.isdigit() and len(each) < 9 for each in parts):
        raise Malformed(f'--users "{text}" is no list of whole numbers, as in 50,500,1000.')
    users = tuple(map(int, parts))
    if not all(1 <= each <= USERS_MAX for each in users):
        raise Malformed(f"--users takes numbers from 1 to {USERS_MAX}.")
    return users


def parse_transports(text: str) -> tuple[str, ...]:
    """Parse transports such as `sse,socketio`, without duplicates. Raises `Malformed`."""
    names = tuple(dict.fromkeys(each.strip() for each in text.split(",") if each.strip()))
    for name in names:
        if name not in TRANSPORT_CHOICES:
            raise Malformed(f'"{name}" is no transport; there are: {", ".join(TRANSPORT_CHOICES)}.')
    if not names:
        raise Malformed(f"--transport needs at least one of: {', '.join(TRANSPORT_CHOICES)}.")
    return names


def arms_of(transports: Sequence[str], *, agreement: bool = False) -> tuple[Arm, ...]:
    """Return an arm for each transport; for an agreement test two, one of them with built-in clients."""
    if not agreement:
        return tuple(
            Arm(each, TRANSPORT_SOCKETIO, {"generator": LOCUST, "polling": True})
            if each == POLLING
            else Arm(each, each, {"generator": LOCUST})
            for each in transports
        )
    if POLLING in transports:
        raise Malformed("Built-in clients do not poll: an agreement is over sse and socketio.")
    return tuple(
        Arm(f"{each}, {generator}", each, {"generator": generator})
        for each in transports
        for generator in (BUILT_IN, LOCUST)
    )


def extra_blocks(levels: int, blocks: int) -> int:
    """Return how many invalid blocks may be repeated: a third of all, as each level counts its own blocks."""
    return max(EXTRA_BLOCKS_MIN, levels * blocks // 3)


def load_plan(
    kind: Kind,
    *,
    users: Sequence[int],
    transports: Sequence[str],
    duration_s: float,
    rate_hz: float,
    seed: int,
    payload_bytes: int,
    blocks: int,
    quick: bool,
    is_loopback: bool,
) -> Plan:
    """Return the plan of trials. Raises `Malformed` for values out of bounds."""
    is_shape = kind in (Kind.STEPS, Kind.SPIKE, Kind.RAMP)
    return Plan(
        arms=arms_of(transports, agreement=kind is Kind.AGREEMENT),
        client_counts=tuple(dict.fromkeys(users)),
        blocks=1 if is_shape else blocks,
        notifications=max(1, round(duration_s * rate_hz)),
        warmup_notifications=min(WARMUP_MAX, max(1, round(WARMUP_S * rate_hz))),
        rate_hz=rate_hz,
        payload_bytes=payload_bytes,
        seed=seed,
        profile="load-quick" if quick else "load" if not is_shape else f"load-{kind.value}",
        idle_s=QUICK_IDLE_S if quick else IDLE_S,
        settle_s=SETTLE_S,
        drain_s=5.0,
        extra_blocks_max=0 if is_shape else 1 if quick else extra_blocks(len(set(users)), blocks),
        environment="loopback" if is_loopback else "lan",
    )
