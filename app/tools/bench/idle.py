"""What an idle connection costs in memory, its heartbeats or pings included."""

from __future__ import annotations

import time

from app import clock
from app.core.errors import Unfit
from app.lab.measure.cpu import CpuSampler, difference
from app.tools.bench.plan import FLOOR
from app.tools.bench.publisher import Publisher
from app.tools.bench.session import MEMORY, SETTLE_S, WARM_UP_PAUSE_S, BenchCell, Session

SETTINGS = {"SIAR_HEARTBEAT_S": "1", "SIAR_PING_INTERVAL_S": "1"}
"""So that every connection has had its heartbeat, or answered its ping, within the measurement."""

FLOOR_IDLE_S = 0.5
"""The floor sends nothing to an idle connection: there is nothing to wait for but the kernel."""

AT_A_TIME = 8
"""Handshakes under way. Each needs memory for its time, and what many of them leave behind would then hold hundreds
of idle connections: it would hide what these need."""

WARM_UP_SHARE = 5
"""Before memory is measured, one for that many come, go, and come again."""


def memory_cell(visit: Session, count: int) -> BenchCell:
    """Growth of RSS per idle connection, over `count` more of them than there were.

    Some are connected at the first look, after as many came and went: the heap that those left behind is in use
    again, and what the server loads and sets aside at its first connections is there.
    """
    cell = visit.cell(MEMORY, count)
    before_count = max(1, count // WARM_UP_SHARE)
    visit.crowd.grow(before_count, at_a_time=AT_A_TIME)
    visit.settle()
    visit.crowd.shrink(0)
    _wait_until_empty(visit.publisher)
    _grow(visit, before_count, cell)
    sampler = CpuSampler(visit.subject.pid)
    before = sampler.snapshot()
    _grow(visit, before_count + count, cell)
    visit.check_path(cell)
    change = difference(before, sampler.snapshot())
    grown = change.use.rss_bytes - sum(use.rss_bytes for use in before.processes.values())
    cell.values["bytes_per_connection"] = grown / count
    return cell


def _grow(visit: Session, count: int, cell: BenchCell) -> None:
    """More connections, until each has had its heartbeats, or pings, and answered them."""
    visit.crowd.grow(count, at_a_time=AT_A_TIME)
    if visit.subject.name == FLOOR:
        time.sleep(FLOOR_IDLE_S)
        return
    # Twice: the first of each, and then another one, which found an answer to the first.
    for _ in range(2):
        visit.crowd.begin(0)
        idle, broken = visit.crowd.wait_for_idle_traffic(timeout_s=SETTLE_S)
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
