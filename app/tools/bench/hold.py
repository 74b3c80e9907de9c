"""`./siar bench --hold`: hold the promised number of connections of one process for minutes, and lose nothing.

One server has both transports, half of the connections each, with heartbeats and pings, and a notification every
second.
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
from app.tools.bench.subscriber_pool import Member, subscriber_pool

CONNECTIONS = 18_000
SECONDS = 120
PERIOD_S = 1.0

SWARMS_PER_TRANSPORT = 2
"""Swarm processes, each on its own loopback address, so that none needs as many descriptors as the server."""

BOTH = "+".join(TRANSPORTS)
"""Transport of a cell that has both."""

READS_MAX = 40_000_000
"""Limit of reads over all connections: swarms keep `ROW_BYTES` of each until the end, which is 1.3 GB for this
limit."""

CONNECT_TIMEOUT_S = 300.0

SETTINGS = {"SIAR_HEARTBEAT_S": "0.6"}
"""Shorter than the period of notifications, because a heartbeat is only sent on an event stream that was idle."""


def check_length(connections: int, seconds: int) -> None:
    """Check the planned number of reads before anything starts.

    Raises `Malformed` if swarms would need too much memory.
    """
    reads = round(connections * seconds / PERIOD_S)
    if reads > READS_MAX:
        raise Malformed(
            f"Holding {connections:,} connections for {seconds:,} s is {reads:,} reads, of which each is kept until the "
            f"end, in {reads * ROW_BYTES / 1e9:,.1f} GB; at most {READS_MAX:,}. So many connections may be held for "
            f"{int(READS_MAX * PERIOD_S / connections):,} s: name that with --hold-s, or fewer with --subscribers."
        )


def hold_cell(connections: int, seconds: int, cores: Cores) -> BenchCell:
    """Hold `connections` for `seconds`. Raises `Unfit` if they cannot be established."""
    cores.go_to_swarm_core()
    members = [
        Member(transport, f"127.0.0.{2 + index * SWARMS_PER_TRANSPORT + each}")
        for index, transport in enumerate(TRANSPORTS)
        for each in range(SWARMS_PER_TRANSPORT)
    ]
    settings = {**SETTINGS, "SIAR_CONNECTIONS_MAX": str(connections + 1)}
    with (
        server_under_test.running(DIRECT, cores, settings) as running,
        subscriber_pool(members, running.host, running.port) as subscribers,
        publisher_of(running) as publisher,
    ):
        subscribers.grow(connections, timeout_s=CONNECT_TIMEOUT_S)
        session = Session(running, BOTH, 0, subscribers, publisher)
        return paced_cell(session, Level(connections, PERIOD_S, round(seconds / PERIOD_S)), HOLD)
