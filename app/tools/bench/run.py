"""A whole bench: repetitions interleaved over servers and transports, with a fresh server for each session.

each server alone: connecting, paced, and memory | all servers at once, alternating: back-to-back notifications
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from app import clock
from app.core.errors import SiarError
from app.tools.bench import burst, cells, idle, server_under_test
from app.tools.bench.machine import Cores
from app.tools.bench.plan import BenchPlan, transport_title
from app.tools.bench.session import SWARM, BenchCell, Session, publisher_of
from app.tools.bench.subscriber_pool import Member, subscriber_pool

SWARM_SHARE_MIN = 1.5
"""Minimum ratio of the rate that the swarm was shown to read and the rate that it measured."""

FAILED = "visit"
"""Kind of the cell that represents a failed session."""

Say = Callable[[str], None]


@dataclass(slots=True)
class BenchRun:
    """The measurements of a run."""

    plan: BenchPlan
    cells: list[BenchCell] = field(default_factory=list)
    duration_s: float = 0.0

    @property
    def is_valid(self) -> bool:
        """True if every cell is valid."""
        return all(cell.is_valid for cell in self.cells)


def run(plan: BenchPlan, cores: Cores, say: Say) -> BenchRun:
    """Execute the plan. A session that fails leaves a cell with the reason, and the run continues."""
    done = BenchRun(plan)
    begun_us = clock.monotonic_us()
    cores.go_to_swarm_core()
    for repetition in range(plan.repetitions):
        for transport in plan.transports:
            # Rotated each time, so that it is not always the same server that follows a slow one.
            turn = repetition % len(plan.servers)
            for server in plan.servers[turn:] + plan.servers[:turn]:
                _run_session(done, server, transport, repetition, cores, say)
                if repetition < plan.idle_count():
                    _idle(done, server, transport, repetition, cores, say)
            if plan.burst_level() is not None:
                _bursts(done, transport, repetition, cores, say)
    check_swarm(done.cells)
    done.duration_s = (clock.monotonic_us() - begun_us) / 1e6
    return done


def _run_session(
    done: BenchRun, server: str, transport: str, repetition: int, cores: Cores, say: Say
) -> None:
    if not ({"paced", "connect", "cost"} & set(done.plan.parts)):
        return
    try:
        with _session(server, transport, repetition, cores, {}) as session:
            for cell in cells.session_cells(session, done.plan):
                note_cell(done, cell, say)
    except SiarError as error:
        note_cell(done, failed_cell(server, transport, repetition, error), say)


def _idle(done: BenchRun, server: str, transport: str, repetition: int, cores: Cores, say: Say) -> None:
    try:
        with _session(server, transport, repetition, cores, idle.SETTINGS) as session:
            note_cell(done, idle.memory_cell(session, done.plan.idle_connections), say)
    except SiarError as error:
        note_cell(done, failed_cell(server, transport, repetition, error), say)


def _bursts(done: BenchRun, transport: str, repetition: int, cores: Cores, say: Say) -> None:
    servers = done.plan.servers
    try:
        with ExitStack() as stack:
            sessions = [
                stack.enter_context(_session(server, transport, repetition, cores, {})) for server in servers
            ]
            for cell in burst.burst_cells(sessions, done.plan):
                note_cell(done, cell, say)
    except SiarError as error:  # The servers alternate, so none can be measured without the others.
        for server in servers:
            note_cell(done, failed_cell(server, transport, repetition, error), say)


@contextmanager
def _session(
    server: str, transport: str, repetition: int, cores: Cores, settings: Mapping[str, str]
) -> Iterator[Session]:
    with (
        server_under_test.running(server, cores, settings) as running,
        subscriber_pool([Member(transport)], running.host, running.port) as subscribers,
        publisher_of(running) as publisher,
    ):
        yield Session(running, transport, repetition, subscribers, publisher)


def failed_cell(server: str, transport: str, repetition: int, error: SiarError) -> BenchCell:
    """Return a cell that represents a failed session."""
    return BenchCell(FAILED, server, transport, 0, repetition, problems=[str(error)])


def note_cell(done: BenchRun, cell: BenchCell, say: Say) -> None:
    """Keep the cell, and report its main figures in a line."""
    done.cells.append(cell)
    values = [
        f"{name} {value:,.{digits}f}"
        for name, digits in (
            ("cpu_us", 1),
            ("p50_ms", 1),
            ("p99_ms", 1),
            ("deliveries_per_s", 0),
            ("connections_per_s", 0),
            ("bytes_per_connection", 0),
        )
        if (value := cell.values.get(name)) is not None
    ]
    where = f"{cell.repetition + 1}/{done.plan.repetitions} {transport_title(cell.transport)} {cell.server}"
    what = f"{cell.kind} {cell.subscribers}" if cell.subscribers else cell.kind
    say(f"{where}: {what}: {'; '.join([*values, *cell.problems])}")


def check_swarm(found: list[BenchCell]) -> None:
    """Mark bursts faster than what the swarm was shown to read, because the figure may be the swarm's limit."""
    for transport in {cell.transport for cell in found}:
        bursts = [each for each in found if each.transport == transport and "deliveries_per_s" in each.values]
        shown = [each.values["deliveries_per_s"] or 0.0 for each in bursts if each.kind == SWARM]
        if not shown:
            continue  # Only the floor can show it; the swarm's utilisation is reported in any case.
        for cell in bursts:
            claimed = cell.values["deliveries_per_s"] or 0.0
            if cell.kind != SWARM and max(shown) < SWARM_SHARE_MIN * claimed:
                cell.problems.append(
                    f"swarm saturated: it was shown to read {max(shown):,.0f}/s, less than "
                    f"{SWARM_SHARE_MIN:g} times {claimed:,.0f}/s"
                )
