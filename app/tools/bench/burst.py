"""Back-to-back notifications, in short windows that alternate between all servers for equal conditions.

    round:   window of one server | window of the next | ...        each round begins with another server

The speed of a shared machine changes by a quarter for tenths of a second or for minutes, and it stalls for milliseconds
now and then. Servers measured a minute apart are measured in different conditions. So all servers run at once, each
with its subscribers, and one after another gets some notifications while the others are idle.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from app.tools.bench.plan import FLOOR, BenchPlan
from app.tools.bench.record import WindowResult, quantile_ms
from app.tools.bench.session import BURST_HTTP, BURST_INSIDE, SWARM, BenchCell, Session
from app.tools.bench.window import DRAIN_S, CpuWindow, take_window

BLAST_MERGED = 25
"""Notifications per write of the floor when it measures the swarm's limit. With one per write, the writer would be the
limit; a swarm that lags reads several writes at once anyway."""

BLAST_WRITES = 24
"""Writes to each subscriber: enough to take about as long as all windows of a burst."""

COMPARED_MIN = 0.5
"""Minimum share of rounds in which every server has a delay; with fewer, no delay is reported."""

MEDIANS = ("p50_ms", "p99_ms", "read_p99_ms", "deliveries_per_s", "cpu_us", "redis_cpu_us", "swarm_busy")
DELAYS = ("p50_ms", "p99_ms")
SUMS = (
    *("deliveries", "reads", "idle_traffic", "unstamped", "stamp_shared"),
    *("lost", "duplicates", "out_of_order", "disconnects"),
)


@dataclass(frozen=True, slots=True)
class Window:
    """A window of one server in one round."""

    cell: BenchCell
    result: WindowResult
    last: int
    """Offset of its last notification."""


def burst_cells(sessions: Sequence[Session], plan: BenchPlan) -> Iterator[BenchCell]:
    """Yield two cells per server, published by HTTP and from inside; for the floor, first the swarm's limit."""
    for session in sessions:
        session.pool.resize(plan.burst_subscribers)
        if session.server.name == FLOOR:
            yield burst_cell(session, SWARM, BLAST_WRITES * BLAST_MERGED, plan.burst_subscribers)
    for kind in (BURST_HTTP, BURST_INSIDE):
        rounds = _by_turns(sessions, kind, plan)
        for session in sessions:
            cell = session.cell(kind, plan.burst_subscribers)
            session.check_path(cell)
            sum_up(cell, [{name: each.cell for name, each in found.items()} for found in rounds])
            pooled = _pooled(session.server.name, rounds)
            cell.values["p99_pooled_ms"] = (
                None if cell.values["p99_ms"] is None else quantile_ms(pooled, 0.99)
            )
            yield cell


def burst_cell(session: Session, kind: str, count: int, subscribers: int) -> BenchCell:
    """Publish `count` notifications as fast as possible, in a single window."""
    session.pool.resize(subscribers)
    cell = _window(session, kind, count, session.settle()).cell
    session.check_path(cell)
    return cell


def sum_up(cell: BenchCell, rounds: Sequence[Mapping[str, BenchCell]]) -> None:
    """Fill `cell` with the medians and sums of its server's windows in `rounds`, which are keyed by server.

    Delays are taken from rounds in which every server that takes part in all rounds has one. Otherwise, conditions in
    which one server has no delay would count for the others only.
    """
    own = [found[cell.server] for found in rounds if cell.server in found]
    regular = [name for name in rounds[0] if all(name in found for found in rounds)]
    compared = own
    if cell.server in regular:
        compared = [
            found[cell.server] for found in rounds if all(_has_delay(found[name]) for name in regular)
        ]
    for name in MEDIANS:
        values = [each.values[name] for each in (compared if name in DELAYS else own) if name in each.values]
        known = [value for value in values if value is not None]
        if values or name in DELAYS:
            cell.values[name] = statistics.median(known) if known else None
    if len(compared) < COMPARED_MIN * len(own):
        cell.values |= dict.fromkeys(DELAYS)
    for name in SUMS:
        cell.values[name] = sum(each.values[name] or 0 for each in own)
    cell.values["windows"], cell.values["windows_compared"] = len(own), len(compared)
    cell.windows = [each.values for each in own]
    cell.problems += dict.fromkeys(problem for each in own for problem in each.problems)


def _by_turns(sessions: Sequence[Session], kind: str, plan: BenchPlan) -> list[dict[str, Window]]:
    """Run the rounds. Returns the windows of each round by server."""
    last_offset = {session.server.name: session.settle() for session in sessions}
    rounds = []
    for number in range(plan.burst_rounds):
        found = {}
        turn = number % len(sessions)
        for session in (*sessions[turn:], *sessions[:turn]):
            name = session.server.name
            if plan.takes_part(name, number):
                window = _window(
                    session, kind, plan.burst_notifications, last_offset[name], warm_up=plan.burst_warm_up
                )
                window.cell.values["round"] = number
                found[name], last_offset[name] = window, window.last
        rounds.append(found)
    return rounds


def _window(session: Session, kind: str, count: int, last_offset: int, *, warm_up: int = 0) -> Window:
    """Measure `count` notifications after `warm_up` others: one POST after another, or from inside the server."""
    cell = session.cell(kind, session.pool.count)
    behind = session.pool.begin(last_offset)
    cpu = CpuWindow(session.server)
    starts_us, last = _publish(session, kind, warm_up + count)
    session.pool.wait_for(last, timeout_s=DRAIN_S)
    cpu.close()
    merges = session.server.merges or kind == SWARM
    result = session.pool.end(offset=last, starts_us=starts_us[warm_up:], merges=merges)
    take_window(cell, result, behind, expected=session.pool.count * count)
    wall_us = max(1, result.last_read_us - starts_us[warm_up])
    cell.values["deliveries_per_s"] = result.delivered * 1e6 / wall_us
    cell.values |= cpu.values(session.pool.count * len(starts_us))
    return Window(cell, result, last)


def _publish(session: Session, kind: str, count: int) -> tuple[list[int], int]:
    """Publish. Returns the start time of each notification, and the offset of the last."""
    if kind == BURST_INSIDE:
        return session.publisher.burst(count)
    if kind == SWARM:
        return session.publisher.blast(count, merged=BLAST_MERGED)
    published = [session.publisher.publish() for _ in range(count)]
    return [each.started_us for each in published], published[-1].offset


def _has_delay(cell: BenchCell) -> bool:
    return cell.values["p99_ms"] is not None


def _pooled(server: str, rounds: Sequence[Mapping[str, Window]]) -> Counter[int]:
    found: Counter[int] = Counter()
    for each in rounds:
        if server in each and _has_delay(each[server].cell):
            found.update(each[server].result.delays)
    return found
