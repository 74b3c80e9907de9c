"""`./siar bench`: measure the cost of fan-out against a plain loop of `send` in the same run."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from app import clock
from app.cli.measuring import check_json_path
from app.core.errors import Malformed, Unfit
from app.core.exit_codes import EXIT_FAILURE, EXIT_OK
from app.core.wire import TRANSPORTS
from app.lab.measure import host
from app.lab.report.atomic_files import write_atomically
from app.server.fanout.batch_sender import Sender
from app.settings import Settings
from app.tools.bench import criteria, hold, plan, several, several_summary, summary
from app.tools.bench.criteria import Criterion
from app.tools.bench.machine import Cores, choose_cores, kept_awake, raise_open_files
from app.tools.bench.plan import BenchPlan
from app.tools.bench.run import BenchRun, run
from app.tools.bench.session import HOLD
from app.tools.bench.several import SeveralPlan
from app.tools.bench.several_show import places_sentence, print_several
from app.tools.bench.show import cores_sentence, print_hold, print_result, result_text
from app.tools.bench.summary import Growth, SummaryRow

EXTRA_FILES = 1_000
"""File descriptors that a server needs in addition to its subscribers' (a generous estimate)."""

PIPED_COLUMNS = 132
SUBSCRIBERS_MAX = Settings().connections_max
"""A server's default limit of connections, because the bench measures the default configuration. It is below the number
of ports of the single address that a swarm connects from."""

HOLD_CONNECTIONS_MAX = 60_000
"""With `--hold`, the server's limit is raised, and swarms connect from several addresses."""

REPETITIONS_MAX = 1_000
HOLD_S_MAX = 86_400


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `bench`; none is required."""
    parser.add_argument("--quick", action="store_true", help="one smaller repetition, in about a minute")
    parser.add_argument(
        "--repetitions", type=int, metavar="N", help="how often each is measured (default: 5)"
    )
    parser.add_argument("--subscribers", metavar="N,N", help="levels (default: 100,1000,5000,10000)")
    parser.add_argument("--transports", metavar="A,B", help=f"of {', '.join(TRANSPORTS)} (default: all)")
    parser.add_argument(
        "--servers", metavar="A,B", help=f"of {', '.join(plan.SERVERS_TO_NAME)} (default: all but the last)"
    )
    parser.add_argument("--only", metavar="A,B", help=f"of {', '.join(plan.PARTS)} (default: all)")
    parser.add_argument(
        "--hold",
        action="store_true",
        help="instead: hold 18,000 connections for two minutes and lose nothing",
    )
    parser.add_argument("--hold-s", type=int, metavar="S", help=f"how long (default: {hold.SECONDS})")
    parser.add_argument(
        "--processes",
        metavar="N,N",
        help="instead: so many server processes over a Redis of the bench's own, against one with its history in "
        "memory (as in 1,4; needs redis-server)",
    )
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the machine-readable result there")


def execute(arguments: argparse.Namespace) -> int:
    """Run the bench and print its result."""
    if arguments.json is not None:
        check_json_path(arguments.json)
    with kept_awake() as is_awake:
        return _measure(arguments, is_awake=is_awake)


def _measure(arguments: argparse.Namespace, *, is_awake: bool) -> int:
    if arguments.hold_s is not None and not arguments.hold:
        raise Malformed("--hold-s says how long --hold holds; add --hold.")
    if arguments.hold and arguments.processes is not None:
        raise Malformed("--hold and --processes are two different measurements; name one.")
    if arguments.hold:
        return _hold(arguments, is_awake=is_awake)
    if arguments.processes is not None:
        return _several(arguments, is_awake=is_awake)
    wanted = _plan(arguments)
    _check_machine(wanted.connections_max())
    cores = choose_cores()
    _print_status(
        f"{wanted.repetitions} x {', '.join(wanted.servers)} on {', '.join(wanted.transports)}: "
        f"about {_duration(wanted.expected_s())}. {cores_sentence(cores)}"
    )
    conditions = _conditions(is_awake=is_awake)
    done = run(wanted, cores, _print_status)
    _print_status(f"Took {_duration(done.duration_s)}.")
    return _report(done, cores, conditions, arguments.json)


def _hold(arguments: argparse.Namespace, *, is_awake: bool) -> int:
    of_others = ("repetitions", "transports", "servers", "only")
    if arguments.quick or any(getattr(arguments, name) is not None for name in of_others):
        raise Malformed(
            "--hold holds one server's connections of both transports, once; leave --quick, --repetitions, --transports, "
            "--servers and --only out. --subscribers and --hold-s say how many and how long."
        )
    files = raise_open_files()
    # At least one, so that a limit below the server's own files is reported as a sentence by `_check_machine`.
    connections = max(1, min(hold.CONNECTIONS, files - EXTRA_FILES))
    if arguments.subscribers is not None:
        connections = _whole_number(arguments.subscribers, HOLD_CONNECTIONS_MAX)
    seconds = hold.SECONDS if arguments.hold_s is None else _whole_number(str(arguments.hold_s), HOLD_S_MAX)
    hold.check_length(connections, seconds)
    _check_machine(connections)
    cores = choose_cores()
    _print_status(
        f"Holding {connections:,} connections, half of them on each transport, for {seconds} s: about "
        f"{_duration(seconds + 10 + connections / 1000)} in all. {cores_sentence(cores)}"
    )
    conditions = _conditions(is_awake=is_awake)
    begun_us = clock.monotonic_us()
    cell = hold.hold_cell(connections, seconds, cores)
    held = BenchPlan(
        servers=(plan.DIRECT,), parts=(HOLD,), levels=(connections,), repetitions=1, seconds=seconds
    )
    done = BenchRun(held, [cell], (clock.monotonic_us() - begun_us) / 1e6)
    _write_json(done, [], [], [], cores, conditions, arguments.json)
    print_hold(cell, seconds, _console())
    return EXIT_OK if done.is_valid else EXIT_FAILURE


def _several(arguments: argparse.Namespace, *, is_awake: bool) -> int:
    if arguments.servers is not None or arguments.only is not None:
        raise Malformed(
            "--processes compares servers of its own, in parts of its own; leave --servers and --only out."
        )
    wanted = _several_plan(arguments)
    _check_machine(wanted.subscribers)
    _print_status(
        f"{wanted.repetitions} x {', '.join(arm.name for arm in wanted.arms)} on {', '.join(wanted.transports)}: about "
        f"{_duration(wanted.expected_s())}. {places_sentence(wanted)}"
    )
    conditions = _conditions(is_awake=is_awake)
    done = several.run_several(wanted, _print_status)
    _print_status(f"Took {_duration(done.duration_s)}.")
    found = several_summary.ratios(done.cells, wanted)
    extra = {
        "ratios": [dataclasses.asdict(each) for each in found],
        "oversubscribed": {arm.name: several.is_oversubscribed(arm.processes) for arm in wanted.arms},
    }
    rows = summary.rows(done.cells, done.plan)
    _write_json(done, rows, [], [], Cores(None, None), conditions, arguments.json, extra)
    print_several(done, wanted, found, _console())
    return EXIT_OK if done.is_valid else EXIT_FAILURE


def _several_plan(arguments: argparse.Namespace) -> SeveralPlan:
    counts = tuple(_whole_number(each, several.PROCESSES_MAX) for each in _listed(arguments.processes))
    if not counts:
        raise Malformed("--processes takes numbers of processes, as in 1,4.")
    wanted = SeveralPlan(processes=counts, transports=_named(arguments.transports, TRANSPORTS, "transport"))
    if arguments.quick:
        wanted = replace(wanted, repetitions=1, seconds=0.9, notifications=30)
    if arguments.repetitions is not None:
        wanted = replace(wanted, repetitions=_whole_number(str(arguments.repetitions), REPETITIONS_MAX))
    if arguments.subscribers is not None:
        wanted = replace(wanted, subscribers=_subscribers(arguments.subscribers))
    return wanted


def _conditions(*, is_awake: bool) -> dict[str, object]:
    own = {"processors_kept_awake": is_awake, "writes": Sender(at_once=Settings().io_uring).way}
    return {**host.conditions(settings={}, server={}), **own}


def _console() -> Console:
    return Console(width=None if sys.stdout.isatty() else PIPED_COLUMNS, highlight=False)


def _report(done: BenchRun, cores: Cores, conditions: Mapping[str, object], path: Path | None) -> int:
    rows, growths = summary.rows(done.cells, done.plan), summary.growth(done.cells, done.plan)
    found = criteria.criteria(rows, growths)
    _write_json(done, rows, growths, found, cores, conditions, path)
    print_result(done, rows, growths, found, _console())
    return EXIT_OK if done.is_valid else EXIT_FAILURE


def _write_json(
    done: BenchRun,
    rows: Sequence[SummaryRow],
    growths: Sequence[Growth],
    found: Sequence[Criterion],
    cores: Cores,
    conditions: Mapping[str, object],
    path: Path | None,
    extra: Mapping[str, object] | None = None,
) -> None:
    if path is not None:
        text = result_text(done, rows, growths, found, cores=cores, conditions=conditions, extra=extra)
        write_atomically(path, lambda file: file.write(text))


def _plan(arguments: argparse.Namespace) -> BenchPlan:
    wanted = BenchPlan()
    if arguments.quick:
        wanted = plan.quick(wanted)
    if arguments.subscribers is not None:
        levels = tuple(_subscribers(each) for each in _listed(arguments.subscribers))
        if not levels:
            raise Malformed("--subscribers takes numbers of subscribers, as in 100,1000.")
        at_most = max(levels)
        wanted = replace(
            wanted,
            levels=levels,
            burst_subscribers=min(wanted.burst_subscribers, at_most),
            idle_connections=min(wanted.idle_connections, at_most),
        )
    if arguments.repetitions is not None:
        wanted = replace(wanted, repetitions=_whole_number(str(arguments.repetitions), REPETITIONS_MAX))
    return replace(
        wanted,
        transports=_named(arguments.transports, TRANSPORTS, "transport"),
        servers=_named(arguments.servers, plan.SERVERS_TO_NAME, "server", usual=plan.SERVERS),
        parts=_named(arguments.only, plan.PARTS, "part of the bench"),
    )


def _listed(text: str) -> list[str]:
    return list(dict.fromkeys(each.strip() for each in text.split(",") if each.strip()))


def _named(
    text: str | None, known: Sequence[str], what: str, *, usual: Sequence[str] | None = None
) -> tuple[str, ...]:
    if text is None:
        return tuple(known if usual is None else usual)
    names = _listed(text)
    for name in names:
        if name not in known:
            raise Malformed(f'"{name}" is no {what}; there are: {", ".join(known)}.')
    if not names:
        raise Malformed(f"Name at least one {what} of: {', '.join(known)}.")
    return tuple(each for each in known if each in names)


def _subscribers(text: str) -> int:
    """Parse the number of subscribers of one level. Raises `Malformed`."""
    count = _whole_number(text, HOLD_CONNECTIONS_MAX)
    if count > SUBSCRIBERS_MAX:
        raise Malformed(
            f"A server takes at most {SUBSCRIBERS_MAX:,} connections unless it is told otherwise, and {count:,} are more: "
            "name fewer with --subscribers, or hold so many with --hold."
        )
    return count


def _whole_number(text: str, most: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10 and 1 <= int(text) <= most):
        raise Malformed(f'"{text}" is not a whole number from 1 to {most}.')
    return int(text)


def _check_machine(connections: int) -> None:
    """Check platform and file limit before the run starts. Raises `Unfit`."""
    if sys.platform != "linux":
        raise Unfit("The bench needs Linux: floor and swarm stand on epoll.")
    files = raise_open_files()
    if connections + EXTRA_FILES > files:
        raise Unfit(
            f"{connections:,} subscribers need {connections + EXTRA_FILES:,} open files, and this user may have "
            f"{files:,} (ulimit -Hn). Raise that limit, or name fewer with --subscribers."
        )


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def _print_status(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
