"""What is measured on one server: connecting, paced notifications, and notifications back to back.

    connect -> paced, the largest level first -> back to back by HTTP -> back to back from inside

Each cell says itself whether it is valid.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from app import clock
from app.bench.cpu_window import CpuWindow
from app.bench.plan import FLOOR, BenchPlan, Level
from app.bench.record import WindowResult, quantile_ms
from app.bench.visit import BURST_HTTP, BURST_INSIDE, CONNECT, PACED, SWARM, Cell, Visit
from app.measure.cpu import CpuSampler, difference

DRAIN_S = 60.0
"""How long what was published may take to arrive before it counts as lost."""

CONNECT_WARM_UP = 50
"""The first connections of a server's life load code."""

SHARED_MAX = 0.1
"""Share of the deliveries whose time of arrival may be unknown, or no delay is told: they are those of moments in which the
swarm was behind."""

BLAST_MERGED = 25
"""Notifications in each write of the neutral source: one per write would show the writer's own limit. A swarm that
falls behind gets merged reads from the kernel in any case."""

BLAST_WRITES = 24
"""To each subscriber: enough to take about as long as a burst."""


def connect_cell(visit: Visit, count: int) -> Cell:
    """How many connections a second the server accepts, handshake included, until each is ready."""
    cell = visit.cell(CONNECT, count)
    visit.crowd.grow(min(count, CONNECT_WARM_UP))
    visit.settle()
    visit.crowd.shrink(0)
    sampler = CpuSampler(visit.subject.pid)
    before = sampler.snapshot()
    added, wall_us = visit.crowd.grow(count)
    use = difference(before, sampler.snapshot()).use
    cell.values["connections_per_s"] = added * 1e6 / wall_us
    cell.values["cpu_us"] = use.total_s * 1e6 / added
    return cell


def paced_cell(visit: Visit, level: Level, kind: str = PACED) -> Cell:
    """One notification to all each period: CPU per delivery and delays."""
    cell = visit.cell(kind, level.subscribers)
    visit.crowd.resize(level.subscribers)
    offset = visit.settle()
    visit.check_path(cell)
    behind = visit.crowd.begin(offset)
    window = CpuWindow(visit.subject)
    first_us = clock.monotonic_us()
    published = []
    for index in range(level.notifications):
        _sleep_until(first_us + round(index * level.period_s * 1e6))
        published.append(visit.publisher.publish())
    _sleep_until(first_us + round(level.duration_s * 1e6))
    last = published[-1].offset
    visit.crowd.wait_for(last, timeout_s=DRAIN_S)
    window.close()
    starts_us = [each.started_us for each in published]
    result = visit.crowd.end(offset=last, starts_us=starts_us, merges=visit.subject.merges)
    _take_window(cell, result, behind, expected=level.subscribers * level.notifications)
    use = window.server.use
    cell.values |= window.values(result.delivered)
    cell.values["core_percent"] = 100 * use.total_s / use.wall_s
    cell.values["rss_bytes"] = use.rss_bytes
    if window.server.appeared or window.server.ended:
        cell.problems.append("a process of the server began or ended in between")
    return cell


def burst_cell(visit: Visit, kind: str, count: int, subscribers: int) -> Cell:
    """`count` notifications as fast as they go: by HTTP one POST after the other, or from inside the server."""
    cell = visit.cell(kind, subscribers)
    visit.crowd.resize(subscribers)
    offset = visit.settle()
    visit.check_path(cell)
    behind = visit.crowd.begin(offset)
    window = CpuWindow(visit.subject)
    if kind == BURST_HTTP:
        published = [visit.publisher.publish() for _ in range(count)]
        starts_us, last = [each.started_us for each in published], published[-1].offset
    elif kind == BURST_INSIDE:
        starts_us, last = visit.publisher.burst(count)
    else:
        starts_us, last = visit.publisher.blast(count, merged=BLAST_MERGED)
    visit.crowd.wait_for(last, timeout_s=DRAIN_S)
    window.close()
    merges = visit.subject.merges or kind == SWARM
    result = visit.crowd.end(offset=last, starts_us=starts_us, merges=merges)
    _take_window(cell, result, behind, expected=subscribers * len(starts_us))
    wall_us = max(1, result.last_read_us - starts_us[0])
    cell.values["deliveries_per_s"] = result.delivered * 1e6 / wall_us
    cell.values |= window.values(result.delivered)
    return cell


def visit_cells(visit: Visit, plan: BenchPlan) -> Iterator[Cell]:
    """Everything but memory, on one server."""
    connect = plan.connect_level()
    if connect is not None:
        yield connect_cell(visit, connect)
    # From the largest that only adds connections downwards: who leaves makes no room in the server's heap.
    for level in plan.paced_levels(visit.subject.name):
        yield paced_cell(visit, level)
    burst = plan.burst_level()
    if burst is None:
        return
    if visit.subject.name == FLOOR:
        yield burst_cell(visit, SWARM, BLAST_WRITES * BLAST_MERGED, burst)
    for kind in (BURST_HTTP, BURST_INSIDE):
        yield burst_cell(visit, kind, plan.burst_count(visit.subject.name), burst)


def _take_window(cell: Cell, result: WindowResult, behind: int, *, expected: int) -> None:
    is_known = result.shared <= SHARED_MAX * result.delivered
    cell.values["p50_ms"] = quantile_ms(result.delays, 0.50) if is_known else None
    cell.values["p99_ms"] = quantile_ms(result.delays, 0.99) if is_known else None
    cell.values["read_p99_ms"] = quantile_ms(result.read_delays, 0.99)
    cell.values["unstamped"], cell.values["stamp_shared"] = result.unstamped, result.shared
    cell.values["deliveries"] = result.delivered
    cell.values["reads"], cell.values["idle_traffic"] = result.reads, result.idle
    cell.values["swarm_busy"] = result.busy
    cell.values["lost"], cell.values["duplicates"] = result.lost, result.duplicates
    cell.values["out_of_order"], cell.values["disconnects"] = result.out_of_order, result.disconnects
    cell.problems += result.problems()
    if behind:
        cell.problems.append(f"{behind} did not stand at the window's beginning")
    if result.delivered != expected and not cell.problems:
        cell.problems.append(f"{result.delivered} deliveries instead of {expected}")


def _sleep_until(moment_us: int) -> None:
    time.sleep(max(0.0, (moment_us - clock.monotonic_us()) / 1e6))
