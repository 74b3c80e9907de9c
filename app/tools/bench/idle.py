"""Memory per idle connection, including its heartbeats or pings."""

from __future__ import annotations

import time

from app import clock
from app.core.errors import Unfit
from app.lab.measure.cpu import CpuSampler, difference
from app.tools.bench.plan import FLOOR
from app.tools.bench.publisher import Publisher
from app.tools.bench.session import MEMORY, SETTLE_S, WARM_UP_PAUSE_S, BenchCell, Session

SETTINGS = {"SIAR_HEARTBEAT_S": "1", "SIAR_PING_INTERVAL_S": "1"}
"""Short intervals, so that every connection has a heartbeat or answers a ping during the measurement."""

FLOOR_IDLE_S = 0.5
"""Wait for the kernel only, because the floor sends nothing to an idle connection."""

AT_A_TIME = 8
"""Concurrent handshakes. Each needs memory temporarily; with many of them, the freed memory would suffice for hundreds
of idle connections and hide what these need."""

WARM_UP_SHARE = 5
"""One in so many connections is opened, closed and opened again before memory is measured."""


def memory_cell(session: Session, count: int) -> BenchCell:
    """Measure the growth of RSS per idle connection, for `count` additional ones.

    Some connections are open at the first measurement, after as many were opened and closed. So the heap that those
    freed is in use again, and what the server allocates for its first connections is included already.
    """
    cell = session.cell(MEMORY, count)
    before_count = max(1, count // WARM_UP_SHARE)
    session.pool.grow(before_count, at_a_time=AT_A_TIME)
    session.settle()
    session.pool.shrink(0)
    _wait_until_empty(session.publisher)
    _grow(session, before_count, cell)
    sampler = CpuSampler(session.server.pid)
    before = sampler.snapshot()
    _grow(session, before_count + count, cell)
    session.check_path(cell)
    change = difference(before, sampler.snapshot())
    grown = change.use.rss_bytes - sum(use.rss_bytes for use in before.processes.values())
    cell.values["bytes_per_connection"] = grown / count
    return cell


def _grow(session: Session, count: int, cell: BenchCell) -> None:
    """Open more connections, and wait until each has had its heartbeats, or answered its pings."""
    session.pool.grow(count, at_a_time=AT_A_TIME)
    if session.server.name == FLOOR:
        time.sleep(FLOOR_IDLE_S)
        return
    # Twice: the second ping of each connection follows its answer to the first.
    for _ in range(2):
        session.pool.begin(0)
        idle, broken = session.pool.wait_for_idle_traffic(timeout_s=SETTLE_S)
        if idle < count:
            cell.problems.append(f"only {idle} heartbeats or pings came to {count} connections")
        if broken:
            cell.problems.append(f"{broken} disconnected")


def _wait_until_empty(publisher: Publisher) -> None:
    deadline_us = clock.monotonic_us() + round(SETTLE_S * 1e6)
    while publisher.state().recipients:
        if clock.monotonic_us() > deadline_us:
            raise Unfit(f"After {SETTLE_S:g} s the server has not noticed that all subscribers left.")
        time.sleep(WARM_UP_PAUSE_S)
