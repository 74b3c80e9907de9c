"""The cells of a bench: one thing measured once on one server. Each says itself whether it is valid.

visit:   connect -> paced, the largest level first -> back to back by HTTP, back to back inside
idle:    a fresh server, warmed up -> RSS -> connections -> heartbeats answered -> RSS
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from app import clock
from app.bench.crowd import Crowd
from app.bench.plan import FLOOR, PACED_MAX, BenchPlan, Level
from app.bench.publisher import Publisher
from app.bench.record import WindowResult
from app.bench.subject import Subject
from app.core.errors import Unfit
from app.measure.cpu import CpuSampler, difference

CONNECT, PACED, BURST_HTTP, BURST_INSIDE, MEMORY, SWARM = (
    *("connect", "paced", "burst_http", "burst_inside"),
    *("memory", "swarm"),
)

DRAIN_S = 30.0
"""How long what was published may take to arrive before it counts as lost."""

SETTLE_S = 15.0
"""How long a server may take to notice who came and who left."""

WARM_UP_PAUSE_S = 0.05
WARM_UPS_MIN = 2

IDLE_WARM_UP_CONNECTIONS = 1_000
IDLE_SETTINGS = {"SIAR_HEARTBEAT_S": "1", "SIAR_PING_INTERVAL_S": "1"}
"""So that every connection has had its heartbeat, or answered its ping, within the measurement."""
FLOOR_IDLE_S = 0.5
"""The floor sends nothing to an idle connection: there is nothing to wait for but the kernel."""

BLAST_MERGED = 5
"""Notifications in each write of the neutral source: one per write would show the writer's own limit."""


@dataclass(slots=True)
class Cell:
    """One measurement, raw."""

    kind: str
    server: str
    transport: str
    subscribers: int
    repetition: int
    values: dict[str, float | None] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    """Why it does not count; empty: it does."""

    @property
    def is_valid(self) -> bool:
        """Whether its values may be used."""
        return not self.problems


@dataclass(frozen=True, slots=True)
class Visit:
    """One server, its subscribers and its publisher."""

    subject: Subject
    transport: str
    repetition: int
    crowd: Crowd
    publisher: Publisher

    def cell(self, kind: str, subscribers: int) -> Cell:
        """An empty cell of this visit."""
        return Cell(kind, self.subject.name, self.transport, subscribers, self.repetition)

    def settle(self) -> int:
        """Publish until the server knows of exactly those who are there, and all have got it.

        A server that only notices by writing that somebody left is told this way. Answers the last offset.
        """
        deadline_us = clock.monotonic_us() + round(SETTLE_S * 1e6)
        settled = 0
        while clock.monotonic_us() < deadline_us:
            published = self.publisher.publish()
            everyone = self.crowd.wait_for(published.offset, timeout_s=SETTLE_S)
            settled = settled + 1 if everyone and published.recipients == self.crowd.count else 0
            if settled == WARM_UPS_MIN:
                return published.offset
            time.sleep(WARM_UP_PAUSE_S)
        raise Unfit(f"After {SETTLE_S:g} s not exactly {self.crowd.count} subscribers get a notification.")

    def check_path(self, cell: Cell) -> None:
        """A figure must be of what its name says: every connection on this server's own path."""
        _count, paths = self.publisher.state()
        strays = sum(count for path, count in paths.items() if path != self.subject.name)
        if strays:
            cell.problems.append(f"{strays} connections are not on the {self.subject.name} path: {paths}")


def connect_cell(visit: Visit, count: int) -> Cell:
    """How many connections a second the server accepts, handshake included, until each is ready."""
    cell = visit.cell(CONNECT, count)
    added, wall_us = visit.crowd.grow(count)
    cell.values["connections_per_s"] = added * 1e6 / wall_us
    return cell


def paced_cell(visit: Visit, level: Level) -> Cell:
    """One notification to all each period: CPU per delivery and delays."""
    cell = visit.cell(PACED, level.subscribers)
    resize(visit.crowd, level.subscribers)
    offset = visit.settle()
    visit.check_path(cell)
    sampler = CpuSampler(visit.subject.pid)
    behind = visit.crowd.begin(offset)
    before = sampler.snapshot()
    first_us = clock.monotonic_us()
    published = []
    for index in range(level.notifications):
        _sleep_until(first_us + round(index * level.period_s * 1e6))
        published.append(visit.publisher.publish())
    _sleep_until(first_us + round(level.duration_s * 1e6))
    last = published[-1].offset
    visit.crowd.wait_for(last, timeout_s=DRAIN_S)
    after = sampler.snapshot()
    result = visit.crowd.end(offset=last, starts_us=[each.started_us for each in published])
    _take_window(cell, result, behind, expected=level.subscribers * level.notifications)
    change = difference(before, after)
    cell.values["cpu_us"] = change.use.total_s * 1e6 / max(1, result.delivered)
    cell.values["rss_bytes"] = change.use.rss_bytes
    if change.appeared or change.ended:
        cell.problems.append("a process of the server began or ended in between")
    return cell


def burst_cell(visit: Visit, kind: str, count: int, subscribers: int) -> Cell:
    """`count` notifications as fast as they go: by HTTP one POST after the other, or from inside the server."""
    cell = visit.cell(kind, subscribers)
    resize(visit.crowd, subscribers)
    offset = visit.settle()
    visit.check_path(cell)
    sampler = CpuSampler(visit.subject.pid)
    behind = visit.crowd.begin(offset)
    before = sampler.snapshot()
    if kind == BURST_HTTP:
        published = [visit.publisher.publish() for _ in range(count)]
        starts_us, last = [each.started_us for each in published], published[-1].offset
    elif kind == BURST_INSIDE:
        starts_us, last = visit.publisher.burst(count)
    else:
        starts_us, last = visit.publisher.blast(count, merged=BLAST_MERGED)
    visit.crowd.wait_for(last, timeout_s=DRAIN_S)
    after = sampler.snapshot()
    result = visit.crowd.end(offset=last, starts_us=starts_us)
    _take_window(cell, result, behind, expected=subscribers * len(starts_us))
    wall_us = max(1, result.last_read_us - starts_us[0])
    cell.values["deliveries_per_s"] = result.delivered * 1e6 / wall_us
    cell.values["cpu_us"] = difference(before, after).use.total_s * 1e6 / max(1, result.delivered)
    return cell


def visit_cells(visit: Visit, plan: BenchPlan) -> Iterator[Cell]:
    """Everything but memory, on one server."""
    levels = plan.paced_levels()
    connect = plan.connect_level()
    if connect is not None:
        yield connect_cell(visit, connect)
    # From the largest that only adds connections downwards: who leaves makes no room in the server's heap.
    for level in levels:
        if level.subscribers <= PACED_MAX or "cost" in plan.parts:
            yield paced_cell(visit, level)
    burst = plan.burst_level()
    if burst is None:
        return
    if visit.subject.name == FLOOR:
        yield burst_cell(visit, SWARM, plan.burst_notifications, burst)
    for kind in (BURST_HTTP, BURST_INSIDE):
        yield burst_cell(visit, kind, plan.burst_notifications, burst)


def memory_cell(visit: Visit, count: int) -> Cell:
    """Growth of RSS per idle connection, after connections that came and went have warmed the server up."""
    cell = visit.cell(MEMORY, count)
    visit.crowd.grow(min(count, IDLE_WARM_UP_CONNECTIONS))
    visit.settle()
    visit.crowd.shrink(0)
    _wait_until_empty(visit.publisher)
    sampler = CpuSampler(visit.subject.pid)
    before = sampler.snapshot()
    visit.crowd.grow(count)
    visit.crowd.begin(0)
    if visit.subject.name == FLOOR:
        time.sleep(FLOOR_IDLE_S)
    else:
        # Twice: the first heartbeat or ping of each, and then another one that found an answer to the first.
        for _ in range(2):
            idle, broken = visit.crowd.wait_for_idle_traffic(timeout_s=SETTLE_S)
            visit.crowd.begin(0)
            if idle < count:
                cell.problems.append(f"only {idle} heartbeats or pings came to {count} connections")
            if broken:
                cell.problems.append(f"{broken} disconnected")
    visit.check_path(cell)
    change = difference(before, sampler.snapshot())
    grown = change.use.rss_bytes - sum(use.rss_bytes for use in before.processes.values())
    cell.values["bytes_per_connection"] = grown / count
    return cell


def resize(crowd: Crowd, count: int) -> None:
    """Have exactly `count` subscribers."""
    if count > crowd.count:
        crowd.grow(count)
    elif count < crowd.count:
        crowd.shrink(count)


@contextlib.contextmanager
def publisher_of(subject: Subject) -> Iterator[Publisher]:
    """A publisher, hung up with the block."""
    publisher = Publisher(subject.host, subject.port, subject.token)
    try:
        yield publisher
    finally:
        publisher.close()


def _take_window(cell: Cell, result: WindowResult, behind: int, *, expected: int) -> None:
    cell.values["p50_ms"] = result.quantile_ms(0.50)
    cell.values["p99_ms"] = result.quantile_ms(0.99)
    cell.values["deliveries"] = result.delivered
    cell.values["reads"] = result.reads
    cell.values["swarm_busy"] = result.busy
    cell.values["lost"], cell.values["duplicates"] = result.lost, result.duplicates
    cell.values["out_of_order"], cell.values["disconnects"] = result.out_of_order, result.disconnects
    cell.problems += result.problems()
    if behind:
        cell.problems.append(f"{behind} did not stand at the window's beginning")
    if result.delivered != expected and not cell.problems:
        cell.problems.append(f"{result.delivered} deliveries instead of {expected}")


def _wait_until_empty(publisher: Publisher) -> None:
    deadline_us = clock.monotonic_us() + round(SETTLE_S * 1e6)
    while publisher.state()[0]:
        if clock.monotonic_us() > deadline_us:
            raise Unfit(f"After {SETTLE_S:g} s the server has not noticed that all subscribers left.")
        time.sleep(WARM_UP_PAUSE_S)


def _sleep_until(moment_us: int) -> None:
    time.sleep(max(0.0, (moment_us - clock.monotonic_us()) / 1e6))
