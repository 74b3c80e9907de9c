"""Gain of the mechanisms of the fan-out's hot path: `python -m tests.tools.mechanisms`.

Each side of the comparison is a commit of this repository and the settings of its server. All of them run at once, each
with its subscribers, and one after another gets notifications while the others are idle, so that all meet the same
machine. The figure of a repetition is the median over its rounds of the ratio within a round; the printed ratio is Hodges
and Lehmann's estimate over the repetitions, with its exact 95 % interval (signed ranks, from six repetitions on).

    paced          one notification to all subscribers every 0.3 s: CPU time per delivery
    burst by HTTP  single POSTs, one after the other: deliveries per second, and CPU time per delivery
    burst, batch   the same notifications in one POST: likewise

Needs git and Linux; takes about half an hour, and nothing else may run beside it. What it found: docs/performance.md.

    --repetitions N     fresh servers each time (default 7)
    --subscribers A,B   per server (default 1000,5000)
    --json PATH         every window, and the ratios
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import statistics
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from app import clock
from app.core.errors import SiarError
from app.core.exit_codes import EXIT_FAILURE, EXIT_OK
from app.core.wire import TRANSPORTS
from app.lab.analysis.statistics.signed_rank import pseudo_median, signed_rank_interval
from app.lab.run import server_process
from app.tools.bench import wire
from app.tools.bench.cells import paced_cell
from app.tools.bench.machine import Cores, choose_cores, kept_awake, raise_open_files
from app.tools.bench.plan import DIRECT, Level
from app.tools.bench.server_under_test import ServerUnderTest
from app.tools.bench.session import BURST_HTTP, PACED, BenchCell, Session, publisher_of
from app.tools.bench.subscriber_pool import Member, subscriber_pool
from app.tools.bench.window import DRAIN_S, CpuWindow, take_window

ROOT = Path(__file__).resolve().parents[2]

BURST_BATCH = "burst_batch"
KINDS = (PACED, BURST_HTTP, BURST_BATCH)
METRICS = {
    PACED: ("cpu_us",),
    BURST_HTTP: ("deliveries_per_s", "cpu_us"),
    BURST_BATCH: ("deliveries_per_s", "cpu_us"),
}

ROUNDS = {PACED: 4, BURST_HTTP: 5, BURST_BATCH: 5}
PERIOD_S, PACED_NOTIFICATIONS = 0.3, 5
BURST_NOTIFICATIONS, WARM_UP = 50, 10
LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Side:
    """A server that is compared."""

    name: str
    commit: str
    settings: Mapping[str, str] = field(default_factory=dict)


WITH_RUNS, WITHOUT_RUNS = "cfeca32d", "32f5f0da"
"""The last commit with runs of cursors, and the first without them."""

ONE_BY_ONE = {"SIAR_IO_URING": "0"}

SIDES = (
    Side("io_uring and runs of cursors", WITH_RUNS),
    Side("without io_uring", WITH_RUNS, ONE_BY_ONE),
    Side("without runs of cursors", WITHOUT_RUNS),
    Side("without both", WITHOUT_RUNS, ONE_BY_ONE),
)
"""The first one is what the others are divided by."""


@dataclass(frozen=True, slots=True)
class Window:
    """One measurement of one side."""

    transport: str
    subscribers: int
    kind: str
    repetition: int
    round: int
    side: str
    values: dict[str, float | None]
    problems: list[str]


@dataclass(frozen=True, slots=True)
class Ratio:
    """A figure of a side over that of the first side."""

    side: str
    kind: str
    metric: str
    subscribers: int
    transport: str
    repetitions: int
    ratio: float | None
    low: float | None
    high: float | None


def main() -> int:
    """Measure, print the table in Markdown, and return an exit code: 1 if a window is invalid."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--subscribers", default="1000,5000")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    levels = tuple(int(each) for each in asked.subscribers.split(","))
    raise_open_files()
    windows: list[Window] = []
    with tempfile.TemporaryDirectory() as folder, kept_awake():
        trees = _trees(Path(folder))
        cores = choose_cores()
        cores.go_to_swarm_core()
        for repetition in range(asked.repetitions):
            for transport in TRANSPORTS:
                windows += _repetition(trees, cores, transport, levels, repetition)
    found = ratios(windows)
    if asked.json is not None:
        rows = {"windows": [asdict(each) for each in windows], "ratios": [asdict(each) for each in found]}
        asked.json.write_text(json.dumps(rows), encoding="utf-8")
    print(table(found))
    return EXIT_FAILURE if any(each.problems for each in windows) else EXIT_OK


def ratios(windows: Sequence[Window]) -> list[Ratio]:
    """Return the ratio of every figure of every side but the first; invalid windows do not count."""
    values = {
        (each.transport, each.subscribers, each.kind, each.repetition, each.round, each.side): each.values
        for each in windows
        if not each.problems
    }
    first, *others = (side.name for side in SIDES)
    found = []
    levels = sorted({each.subscribers for each in windows})
    for side, kind, level, transport in (
        (side, kind, level, transport)
        for side in others
        for kind in KINDS
        for level in levels
        for transport in TRANSPORTS
    ):
        for metric in METRICS[kind]:
            logs_by_repetition: dict[int, list[float]] = {}
            for (*where, repetition, number, name), its in values.items():
                if (*where, name) == (transport, level, kind, side):
                    below = values.get((transport, level, kind, repetition, number, first), {}).get(metric)
                    if (value := its.get(metric)) and below:
                        logs_by_repetition.setdefault(repetition, []).append(math.log(value / below))
            logs = [statistics.median(each) for each in logs_by_repetition.values()]
            interval = signed_rank_interval(logs, LEVEL)
            figures = (_exp(each) for each in (pseudo_median(logs), interval.low, interval.high))
            found.append(Ratio(side, kind, metric, level, transport, len(logs), *figures))
    return found


def table(found: Sequence[Ratio]) -> str:
    """Return the ratios as a table in Markdown, a column for each transport."""
    lines = [f"| side | figure | {' | '.join(TRANSPORTS)} |", "| --- | --- |" + " --- |" * len(TRANSPORTS)]
    rows: dict[tuple[str, str], list[str]] = {}
    for each in found:
        cell = "-" if each.ratio is None else f"{each.ratio:.2f}"
        if each.low is not None and each.high is not None:
            cell += f" ({each.low:.2f} to {each.high:.2f})"
        rows.setdefault((each.side, f"{each.kind}, {each.metric}, {each.subscribers:,}"), []).append(cell)
    return "\n".join(
        [*lines, *(f"| {side} | {what} | {' | '.join(cells)} |" for (side, what), cells in rows.items())]
    )


def _exp(value: float | None) -> float | None:
    return None if value is None else math.exp(value)


def _trees(folder: Path) -> dict[str, Path]:
    """Write the tracked files of every side's commit into `folder`; return where they are."""
    trees = {}
    for commit in sorted({side.commit for side in SIDES}):
        tree = folder / commit
        tree.mkdir()
        packed = subprocess.run(["git", "-C", str(ROOT), "archive", commit], check=True, capture_output=True)
        subprocess.run(["tar", "-x", "-C", str(tree)], input=packed.stdout, check=True)
        trees[commit] = tree
    return trees


def _repetition(
    trees: Mapping[str, Path], cores: Cores, transport: str, levels: Sequence[int], repetition: int
) -> Iterator[Window]:
    with contextlib.ExitStack() as stack:
        sessions = [
            stack.enter_context(_session(side, trees[side.commit], cores, transport, repetition))
            for side in SIDES
        ]
        for level in sorted(levels, reverse=True):
            for session in sessions:
                session.pool.resize(level)
                session.settle()
            for kind in KINDS:
                for number in range(ROUNDS[kind]):
                    turn = (repetition + number) % len(sessions)
                    for session in sessions[turn:] + sessions[:turn]:
                        cell = _cell(session, kind, level)
                        session.check_path(cell)
                        where = (transport, level, kind, repetition, number, session.server.name)
                        shown = {name: cell.values.get(name) for name in METRICS[kind]}
                        print(*where, shown, *cell.problems, file=sys.stderr, flush=True)
                        yield Window(*where, cell.values, cell.problems)


@contextlib.contextmanager
def _session(side: Side, tree: Path, cores: Cores, transport: str, repetition: int) -> Iterator[Session]:
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        with cores.on_server_core():
            started = server_process.start(
                runs_dir=Path(folder),
                settings={"SIAR_FANOUT": DIRECT, "SIAR_RECORDER": "0", **side.settings},
                app="app.tools.bench.inside:app",
                root=tree,
            )
        server = stack.enter_context(started).server
        port = urlsplit(server.url).port or 0
        running = ServerUnderTest(
            side.name, server.host, port, server.admin_token, started.process.pid, DIRECT
        )
        pool = stack.enter_context(subscriber_pool([Member(transport)], running.host, running.port))
        yield Session(running, transport, repetition, pool, stack.enter_context(publisher_of(running)))


def _cell(session: Session, kind: str, level: int) -> BenchCell:
    if kind == PACED:
        return paced_cell(session, Level(level, PERIOD_S, PACED_NOTIFICATIONS))
    cell = session.cell(kind, level)
    behind = session.pool.begin(session.settle())
    cpu = CpuWindow(session.server)
    published = [session.publisher.publish() for _ in range(WARM_UP)]
    if kind == BURST_HTTP:
        published += [session.publisher.publish() for _ in range(BURST_NOTIFICATIONS)]
        starts_us, last = [each.started_us for each in published[WARM_UP:]], published[-1].offset
    else:
        starts_us, last = _publish_batch(session.server)
    session.pool.wait_for(last, timeout_s=DRAIN_S)
    cpu.close()
    result = session.pool.end(offset=last, starts_us=starts_us, merges=True)
    take_window(cell, result, behind, expected=level * BURST_NOTIFICATIONS)
    cell.values["deliveries_per_s"] = result.delivered * 1e6 / max(1, result.last_read_us - starts_us[0])
    cell.values |= cpu.values(level * (WARM_UP + BURST_NOTIFICATIONS))
    return cell


def _publish_batch(server: ServerUnderTest) -> tuple[list[int], int]:
    """Publish a batch in one POST; return when it began, for each notification, and the last one's offset."""
    body = json.dumps([{"title": wire.TITLE, "body": wire.BODY}] * BURST_NOTIFICATIONS).encode()
    headers = {"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"}
    request = urllib.request.Request(
        f"http://{server.host}:{server.port}{wire.PUBLISH_PATH}", data=body, headers=headers, method="POST"
    )
    started_us = clock.monotonic_us()
    with urllib.request.urlopen(request, timeout=DRAIN_S) as answer:
        results = json.load(answer)["results"]
    return [started_us] * BURST_NOTIFICATIONS, max(each["offset"] for each in results)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except SiarError as error:
        sys.exit(f"mechanisms: {error}")
