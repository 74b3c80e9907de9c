"""Measurements of one server at a time: connecting, and paced notifications.

    connect -> paced, the largest level first

Each cell records whether it is valid. Back-to-back notifications are in burst.py.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from app import clock
from app.lab.measure.cpu import CpuSampler, difference
from app.tools.bench.plan import BenchPlan, Level
from app.tools.bench.session import CONNECT, PACED, BenchCell, Session
from app.tools.bench.window import DRAIN_S, CpuWindow, take_window

CONNECT_WARM_UP = 50
"""Connections before the measurement, because a server's first connections load code."""


def connect_cell(session: Session, count: int) -> BenchCell:
    """Measure how many connections a second the server accepts, from connecting until each is ready."""
    cell = session.cell(CONNECT, count)
    session.pool.grow(min(count, CONNECT_WARM_UP))
    session.settle()
    session.pool.shrink(0)
    sampler = CpuSampler(session.server.pid)
    before = sampler.snapshot()
    added, wall_us = session.pool.grow(count)
    use = difference(before, sampler.snapshot()).use
    cell.values["connections_per_s"] = added * 1e6 / wall_us
    cell.values["cpu_us"] = use.total_s * 1e6 / added
    return cell


def paced_cell(session: Session, level: Level, kind: str = PACED) -> BenchCell:
    """Publish one notification to all subscribers per period; measure CPU per delivery and delays."""
    cell = session.cell(kind, level.subscribers)
    session.pool.resize(level.subscribers)
    offset = session.settle()
    session.check_path(cell)
    behind = session.pool.begin(offset)
    window = CpuWindow(session.server)
    first_us = clock.monotonic_us()
    published = []
    for index in range(level.notifications):
        _sleep_until(first_us + round(index * level.period_s * 1e6))
        published.append(session.publisher.publish())
    _sleep_until(first_us + round(level.duration_s * 1e6))
    last = published[-1].offset
    session.pool.wait_for(last, timeout_s=DRAIN_S)
    window.close()
    starts_us = [each.started_us for each in published]
    result = session.pool.end(offset=last, starts_us=starts_us, merges=session.server.merges)
    take_window(cell, result, behind, expected=level.subscribers * level.notifications)
    use = window.server.use
    cell.values |= window.values(result.delivered)
    cell.values["core_percent"] = 100 * use.total_s / use.wall_s
    cell.values["rss_bytes"] = use.rss_bytes
    if window.server.appeared or window.server.ended:
        cell.problems.append("a process of the server began or ended in between")
    return cell


def session_cells(session: Session, plan: BenchPlan) -> Iterator[BenchCell]:
    """Yield all measurements of one server that is alone on the machine."""
    connect = plan.connect_level()
    if connect is not None:
        yield connect_cell(session, connect)
    # Downwards from the largest, which only adds connections: closed connections do not shrink the server's heap.
    for level in plan.paced_levels(session.server.name):
        yield paced_cell(session, level)


def _sleep_until(moment_us: int) -> None:
    time.sleep(max(0.0, (moment_us - clock.monotonic_us()) / 1e6))
