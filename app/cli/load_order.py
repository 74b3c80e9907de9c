"""Translation of the flags of `./siar load` into a load plan."""

from __future__ import annotations

import argparse
import math
import os
from urllib.parse import urlsplit

from app.cli.base_url import is_base_url
from app.cli.measuring import seed_or_random
from app.core.client import POLLING
from app.core.errors import Malformed
from app.core.wire import TRANSPORTS
from app.lab.measure.cpu import usable_cores
from app.settings import is_loopback
from app.tools.load import vps
from app.tools.load.gates import Gate, parse_gate
from app.tools.load.plan import (
    AGREEMENT_RATE_HZ,
    AGREEMENT_USERS,
    BLOCKS,
    QUICK_BLOCKS,
    RAMP_USERS,
    SPIKE_SPAWN_RATE,
    SPIKE_USERS,
    USERS,
    LoadOrder,
    load_plan,
    parse_duration_s,
    parse_transports,
    parse_users,
)
from app.tools.load.result import Kind

USERS_PER_PROCESS = 2_000
"""Users per process of Locust: one process needs about 40 ms to read a notification for so many."""

GATES = ("delay_ms_p95<100", "lost==0", "errors==0")


def order_of(arguments: argparse.Namespace) -> LoadOrder:
    """Return the load test that the flags describe. Raises `Malformed`."""
    kind = _kind(arguments)
    users = _users(arguments, kind)
    rate_hz = _rate_hz(arguments.rate, kind)
    duration_s = parse_duration_s(arguments.duration or _usual_duration(arguments, kind))
    blocks = arguments.blocks if arguments.blocks is not None else _usual_blocks(arguments)
    transports = _transports(arguments)
    url, token = arguments.url, arguments.token or os.environ.get("SIAR_ADMIN_TOKEN")
    if url is not None:
        _check_url(url, token)
    plan = load_plan(
        kind,
        users=users,
        transports=transports,
        duration_s=duration_s,
        rate_hz=rate_hz,
        seed=seed_or_random(arguments.seed),
        payload_bytes=arguments.payload,
        blocks=blocks,
        quick=arguments.quick,
        is_loopback=url is None or is_loopback(urlsplit(url).hostname or ""),
    )
    if arguments.preset is not None:
        plan = vps.preset_plan(plan, transports)
    return LoadOrder(
        kind=kind,
        plan=plan,
        stages=users if kind in (Kind.STEPS, Kind.SPIKE, Kind.RAMP) else (),
        gates=_gates(arguments, kind),
        spawn_rate=_spawn_rate(arguments, kind),
        processes=_processes(arguments.processes, max(users)),
        url=url,
        admin_token=token,
        preset=arguments.preset,
    )


def _rate_hz(asked: float | None, kind: Kind) -> float:
    if asked is None:
        return AGREEMENT_RATE_HZ if kind is Kind.AGREEMENT else 1.0
    if not math.isfinite(
        asked
    ):  # Multiplied by a duration, NaN and infinity give no count of notifications; the plan checks the range.
        raise Malformed(f"--rate {asked} is no number of notifications per second, as in 1 or 0.5.")
    return asked


def _usual_duration(arguments: argparse.Namespace, kind: Kind) -> str:
    if arguments.preset is not None and arguments.quick:
        return vps.QUICK_DURATION
    return "4s" if kind is Kind.AGREEMENT else "20s"


def _usual_blocks(arguments: argparse.Namespace) -> int:
    if arguments.quick:
        return QUICK_BLOCKS
    return BLOCKS if arguments.preset is None else vps.BLOCKS


def _transports(arguments: argparse.Namespace) -> tuple[str, ...]:
    if arguments.preset is None:
        return parse_transports(arguments.transport or ",".join(TRANSPORTS))
    transports = parse_transports(arguments.transport or vps.TRANSPORT)
    if POLLING in transports:
        raise Malformed(f"--preset {arguments.preset} measures sse and socketio; leave {POLLING} out.")
    return transports


def _kind(arguments: argparse.Namespace) -> Kind:
    if arguments.agreement and arguments.shape:
        raise Malformed("--agreement runs in blocks; leave --shape out.")
    if arguments.preset and (arguments.agreement or arguments.shape or arguments.url):
        raise Malformed(
            f"--preset {arguments.preset} runs in blocks, on servers of its own; leave --agreement, --shape and --url out."
        )
    if arguments.agreement:
        return Kind.AGREEMENT
    return Kind(arguments.shape) if arguments.shape else Kind.LEVELS


def _users(arguments: argparse.Namespace, kind: Kind) -> tuple[int, ...]:
    if arguments.users is not None:
        users = parse_users(arguments.users)
        if kind is Kind.SPIKE:  # A spike goes up and down again, so levels may repeat and keep their order.
            return users
        once = tuple(dict.fromkeys(users))
        return tuple(sorted(once)) if kind in (Kind.STEPS, Kind.RAMP) else once
    if arguments.preset is not None:
        return vps.QUICK_USERS if arguments.quick else vps.USERS
    return {Kind.SPIKE: SPIKE_USERS, Kind.RAMP: RAMP_USERS, Kind.AGREEMENT: AGREEMENT_USERS}.get(kind, USERS)


def _gates(arguments: argparse.Namespace, kind: Kind) -> tuple[Gate, ...]:
    if arguments.gate is None:
        # An agreement test has its own margin; a spike shows how high delays rise, which is no failure.
        return () if kind in (Kind.AGREEMENT, Kind.SPIKE) else tuple(map(parse_gate, GATES))
    return tuple(dict.fromkeys(map(parse_gate, arguments.gate)))


def _spawn_rate(arguments: argparse.Namespace, kind: Kind) -> float:
    if arguments.spawn_rate is None:
        return SPIKE_SPAWN_RATE if kind is Kind.SPIKE else 200.0
    rate = float(arguments.spawn_rate)
    if not 1 <= rate <= SPIKE_SPAWN_RATE:
        raise Malformed(f"--spawn-rate is 1 to {SPIKE_SPAWN_RATE:g} users per second.")
    return rate


def _processes(asked: int | None, users: int) -> int:
    if asked is None:
        return max(1, min(usable_cores() - 1, math.ceil(users / USERS_PER_PROCESS)))
    if not 1 <= asked <= 64:
        raise Malformed("--processes is 1 to 64.")
    return asked


def _check_url(url: str, token: str | None) -> None:
    if not is_base_url(url):
        raise Malformed(f"--url {url!r}: give it as in http://127.0.0.1:8080 or https://siar.example.")
    if not token:
        raise Malformed("--url needs the operator's token of that server: --token, or SIAR_ADMIN_TOKEN.")
