"""`./siar bench --hold`: as many connections as one process is promised to hold, for minutes, and nothing lost.

Both transports in one server, half each, with heartbeats and pings, and a notification every second.
"""

from __future__ import annotations

from app.core.errors import Malformed
from app.core.wire import TRANSPORTS
from app.tools.bench import server_under_test
from app.tools.bench.cells import paced_cell
from app.tools.bench.machine import Cores
from app.tools.bench.plan import DIRECT, Level
from app.tools.bench.record import ROW_BYTES
from app.tools.bench.session import HOLD, BenchCell, Session, publisher_of
from app.tools.bench.subscriber_pool import Member, crowd

CONNECTIONS = 18_000
SECONDS = 120
PERIOD_S = 1.0

SWARMS_PER_TRANSPORT = 2
"""Processes, each on a loopback address of its own: no one of them holds as many descriptors as the server."""

BOTH = "+".join(TRANSPORTS)
"""What stands for the transport of a cell that has both."""

READS_MAX = 40_000_000
"""Of a hold, over all connections: swarms keep `ROW_BYTES` of each until its end, 1.3 GB of so many."""

CONNECT_TIMEOUT_S = 300.0

SETTINGS = {"SIAR_HEARTBEAT_S": "0.6"}
"""Shorter than the notifications' period: otherwise no event stream would be silent for long enough to get one."""


def check_length(connections: int, seconds: int) -> None:
    """Before anything starts. Raises `Malformed` where the swarms would keep more reads than a machine has room for."""
    reads = round(connections * seconds / PERIOD_S)
    if reads > READS_MAX:
        raise Malformed(
            f"Holding {connections:,} connections for {seconds:,} s is {reads:,} reads, of which each is kept until the "
            f"end, in {reads * ROW_BYTES / 1e9:,.1f} GB; at most {READS_MAX:,}. So many connections may be held for "
            f"{int(READS_MAX * PERIOD_S / connections):,} s: name that with --hold-s, or fewer with --subscribers."
        )


def hold_cell(connections: int, seconds: int, cores: Cores) -> BenchCell:
    """Hold `connections` for `seconds`. Raises `Unfit` when they do not even connect."""
    cores.go_to_swarm_core()
    members = [
        Member(transport, f"127.0.0.{2 + index * SWARMS_PER_TRANSPORT + each}")
        for index, transport in enumerate(TRANSPORTS)
        for each in range(SWARMS_PER_TRANSPORT)
    ]
    settings = {**SETTINGS, "SIAR_CONNECTIONS_MAX": str(connections + 1)}
    with (
        server_under_test.running(DIRECT, cores, settings) as running,
        crowd(members, running.host, running.port) as subscribers,
        publisher_of(running) as publisher,
    ):
        subscribers.grow(connections, timeout_s=CONNECT_TIMEOUT_S)
        visit = Session(running, BOTH, 0, subscribers, publisher)
        return paced_cell(visit, Level(connections, PERIOD_S, round(seconds / PERIOD_S)), HOLD)
