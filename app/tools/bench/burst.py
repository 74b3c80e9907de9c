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

from app.tools.bench.cpu_window import CpuWindow
from app.tools.bench.plan import FLOOR, BenchPlan
from app.tools.bench.record import WindowResult, quantile_ms
from app.tools.bench.session import BURST_HTTP, BURST_INSIDE, SWARM, BenchCell, Session
from app.tools.bench.window import DRAIN_S, take_window

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


def burst_cells(visits: Sequence[Session], plan: BenchPlan) -> Iterator[BenchCell]:
    """Yield two cells per server, published by HTTP and from inside; for the floor, first the swarm's limit."""
    for visit in visits:
        visit.crowd.resize(plan.burst_subscribers)
        if visit.subject.name == FLOOR:
            yield burst_cell(visit, SWARM, BLAST_WRITES * BLAST_MERGED, plan.burst_subscribers)
    for kind in (BURST_HTTP, BURST_INSIDE):
        rounds = _by_turns(visits, kind, plan)
        for visit in visits:
            cell = visit.cell(kind, plan.burst_subscribers)
            visit.check_path(cell)
            sum_up(cell, [{name: each.cell for name, each in found.items()} for found in rounds])
            pooled = _pooled(visit.subject.name, rounds)
            cell.values["p99_pooled_ms"] = (
                None if cell.values["p99_ms"] is None else quantile_ms(pooled, 0.99)
            )
            yield cell


def burst_cell(visit: Session, kind: str, count: int, subscribers: int) -> BenchCell:
    """Publish `count` notifications as fast as possible, in a single window."""
    visit.crowd.resize(subscribers)
    cell = _window(visit, kind, count, visit.settle()).cell
    visit.check_path(cell)
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


def _by_turns(visits: Sequence[Session], kind: str, plan: BenchPlan) -> list[dict[str, Window]]:
    """Run the rounds. Returns the windows of each round by server."""
    stands_at = {visit.subject.name: visit.settle() for visit in visits}
    rounds = []
    for number in range(plan.burst_rounds):
        found = {}
        turn = number % len(visits)
        for visit in (*visits[turn:], *visits[:turn]):
            name = visit.subject.name
            if plan.takes_part(name, number):
                window = _window(
                    visit, kind, plan.burst_notifications, stands_at[name], warm_up=plan.burst_warm_up
                )
                window.cell.values["round"] = number
                found[name], stands_at[name] = window, window.last
        rounds.append(found)
    return rounds


def _window(visit: Session, kind: str, count: int, stands_at: int, *, warm_up: int = 0) -> Window:
    """Measure `count` notifications after `warm_up` others: one POST after another, or from inside the server."""
    cell = visit.cell(kind, visit.crowd.count)
    behind = visit.crowd.begin(stands_at)
    cpu = CpuWindow(visit.subject)
    starts_us, last = _publish(visit, kind, warm_up + count)
    visit.crowd.wait_for(last, timeout_s=DRAIN_S)
    cpu.close()
    merges = visit.subject.merges or kind == SWARM
    result = visit.crowd.end(offset=last, starts_us=starts_us[warm_up:], merges=merges)
    take_window(cell, result, behind, expected=visit.crowd.count * count)
    wall_us = max(1, result.last_read_us - starts_us[warm_up])
    cell.values["deliveries_per_s"] = result.delivered * 1e6 / wall_us
    cell.values |= cpu.values(visit.crowd.count * len(starts_us))
    return Window(cell, result, last)


def _publish(visit: Session, kind: str, count: int) -> tuple[list[int], int]:
    """Publish. Returns the start time of each notification, and the offset of the last."""
    if kind == BURST_INSIDE:
        return visit.publisher.burst(count)
    if kind == SWARM:
        return visit.publisher.blast(count, merged=BLAST_MERGED)
    published = [visit.publisher.publish() for _ in range(count)]
    return [each.started_us for each in published], published[-1].offset


def _has_delay(cell: BenchCell) -> bool:
    return cell.values["p99_ms"] is not None


def _pooled(server: str, rounds: Sequence[Mapping[str, Window]]) -> Counter[int]:
    found: Counter[int] = Counter()
    for each in rounds:
        if server in each and _has_delay(each[server].cell):
            found.update(each[server].result.delays)
    return found
