"""`./siar load`: Locust, headless, 50 to thousands of users, with gates."""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from rich.console import Console

from app import clock
from app import settings as settings_module
from app.analysis.analyse import Analysis
from app.catalogues import LANGUAGES, terminal_language
from app.commands.measuring import (
    EXIT_INTERRUPTED,
    check_json_path,
    find_run,
    given_settings,
    load,
    seed_or_random,
    sigterm_as_ctrl_c,
)
from app.core.errors import Malformed, SiarError
from app.experiment import naming
from app.experiment.progress import for_stream
from app.load.files import write_load
from app.load.gates import Gate, parse_gate
from app.load.plan import (
    AGREEMENT_RATE_HZ,
    AGREEMENT_USERS,
    BLOCKS,
    QUICK_BLOCKS,
    RAMP_USERS,
    SPIKE_SPAWN_RATE,
    SPIKE_USERS,
    USERS,
    LoadOrder,
    load_plan,
    parse_duration_s,
    parse_transports,
    parse_users,
)
from app.load.result import EXIT_FAILURE, Kind, LoadResult, load_result
from app.load.run import LoadRun
from app.load.show import print_load
from app.measure.cpu import usable_cores
from app.settings import is_loopback

PIPED_COLUMNS = 120

USERS_PER_PROCESS = 2_000
"""Of Locust: a burst to so many takes one process some 40 ms to read."""

GATES = ("delay_ms_p95<100", "lost==0", "errors==0")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of `load`; none is needed."""
    add = parser.add_argument
    add("--users", metavar="N,N", help=f"levels (default: {','.join(map(str, USERS))})")
    add(
        "--transport",
        metavar="A,B",
        default="sse,socketio",
        help="of sse, socketio, socketio-polling (default: the first two)",
    )
    add("--spawn-rate", type=float, metavar="N", help="users that connect per second (default: 200)")
    add("--duration", metavar="20s", help="length of a window (default: 20s)")
    add("--rate", type=float, metavar="PER_S", help="notifications per second (default: 1)")
    add(
        "--gate",
        action="extend",
        nargs="+",
        metavar="EXPR",
        help=f"what must hold, as in {' '.join(map(repr, GATES))} (default: these three)",
    )
    add("--blocks", type=int, metavar="N", help=f"interleaved blocks (default: {BLOCKS})")
    add("--quick", action="store_true", help=f"{QUICK_BLOCKS} blocks: describes, decides nothing")
    add("--shape", choices=("steps", "spike", "ramp"), help="instead of blocks: stages, one after the other")
    add(
        "--agreement",
        action="store_true",
        help="instead: whether Locust and the built-in clients see the same, interleaved",
    )
    add("--processes", type=int, metavar="N", help="of Locust (default: one for 2,000 users, as cores allow)")
    add("--payload", type=int, default=512, metavar="BYTES", help="of a notification (default: 512)")
    add("--url", metavar="URL", help="a server that runs already (default: one of its own)")
    add("--token", metavar="TOKEN", help="its operator's token (default: SIAR_ADMIN_TOKEN)")
    add(
        "--again",
        metavar="RUN",
        help="no new load: judge and draw a run again, with its gates or those given",
    )
    add("--seed", type=int, metavar="N", help="order of the trials (default: random, printed)")
    add("--lang", choices=LANGUAGES, help="of terminal and page (default: the locale's)")
    add("--json", type=Path, metavar="PATH", help="write the machine-readable result there as well")
    add("--junit", type=Path, metavar="PATH", help="write the gates there as JUnit XML")


def execute(arguments: argparse.Namespace) -> int:
    """Run and show; the exit code."""
    for path in (arguments.json, arguments.junit):
        if path is not None:
            check_json_path(path)
    if arguments.again is not None:
        return _again(arguments)
    order = _order(arguments)
    settings = settings_module.read(os.environ)
    run = LoadRun(order, settings.runs_dir, naming.new_run_id(), for_stream(sys.stderr), given_settings())
    begun_us, failure = clock.monotonic_us(), None
    _announce(order)
    try:
        with sigterm_as_ctrl_c():
            run.execute()
    except SiarError as error:
        if not (run.folder / "load.jsonl").is_file():
            raise
        failure = error
    duration_s = (clock.monotonic_us() - begun_us) / 1e6
    analysis, result = _show(arguments, run.folder, None, duration_s)
    print(f"Run {analysis.run.id}; --seed {order.plan.seed} gives the same order of trials again.")
    if failure is not None:
        sys.stdout.flush()
        print(f"siar: {failure}", file=sys.stderr)
        return EXIT_FAILURE
    stopped = analysis.run.conditions.get("stopped") == "on request"
    return EXIT_INTERRUPTED if stopped else result.exit_code


def _again(arguments: argparse.Namespace) -> int:
    """A run that is there, judged once more; the exit code as then, or by the gates that are given now."""
    folder = find_run(arguments.again, settings_module.read(os.environ))
    gates = None if arguments.gate is None else tuple(map(parse_gate, arguments.gate))
    _analysis, result = _show(arguments, folder, gates, 0.0)
    return result.exit_code


def _show(
    arguments: argparse.Namespace, folder: Path, gates: Sequence[Gate] | None, duration_s: float
) -> tuple[Analysis, LoadResult]:
    """Write the files, print the result and where they are."""
    analysis = load(folder)
    result = load_result(analysis, folder, gates)
    language = terminal_language(os.environ, arguments.lang)
    paths = write_load(
        analysis,
        result,
        folder,
        json_path=arguments.json,
        junit_path=arguments.junit,
        duration_s=duration_s,
        language=language,
    )
    console = Console(width=None if sys.stdout.isatty() else PIPED_COLUMNS, highlight=False)
    print_load(result, console, language)
    print(f"\nReport: {paths[0]}\nBeside it: {', '.join(path.name for path in paths[1:])}.")
    return analysis, result


def _order(arguments: argparse.Namespace) -> LoadOrder:
    kind = _kind(arguments)
    users = _users(arguments, kind)
    usual_hz = AGREEMENT_RATE_HZ if kind is Kind.AGREEMENT else 1.0
    rate_hz = usual_hz if arguments.rate is None else arguments.rate
    duration_s = parse_duration_s(arguments.duration or ("4s" if kind is Kind.AGREEMENT else "20s"))
    blocks = arguments.blocks if arguments.blocks is not None else QUICK_BLOCKS if arguments.quick else BLOCKS
    url, token = arguments.url, arguments.token or os.environ.get("SIAR_ADMIN_TOKEN")
    if url is not None:
        _check_url(url, token)
    plan = load_plan(
        kind,
        users=users,
        transports=parse_transports(arguments.transport),
        duration_s=duration_s,
        rate_hz=rate_hz,
        seed=seed_or_random(arguments.seed),
        payload_bytes=arguments.payload,
        blocks=blocks,
        quick=arguments.quick,
        is_loopback=url is None or is_loopback(urlsplit(url).hostname or ""),
    )
    return LoadOrder(
        kind=kind,
        plan=plan,
        stages=users if kind in (Kind.STEPS, Kind.SPIKE, Kind.RAMP) else (),
        gates=_gates(arguments, kind),
        spawn_rate=_spawn_rate(arguments, kind),
        processes=_processes(arguments.processes, max(users)),
        url=url,
        admin_token=token,
    )


def _kind(arguments: argparse.Namespace) -> Kind:
    if arguments.agreement and arguments.shape:
        raise Malformed("--agreement runs in blocks; leave --shape out.")
    if arguments.agreement:
        return Kind.AGREEMENT
    return Kind(arguments.shape) if arguments.shape else Kind.LEVELS


def _users(arguments: argparse.Namespace, kind: Kind) -> tuple[int, ...]:
    if arguments.users is not None:
        users = parse_users(arguments.users)
        if kind is Kind.SPIKE:  # goes up and comes down again
            return users
        once = tuple(dict.fromkeys(users))
        return tuple(sorted(once)) if kind in (Kind.STEPS, Kind.RAMP) else once
    return {Kind.SPIKE: SPIKE_USERS, Kind.RAMP: RAMP_USERS, Kind.AGREEMENT: AGREEMENT_USERS}.get(kind, USERS)


def _gates(arguments: argparse.Namespace, kind: Kind) -> tuple[Gate, ...]:
    if arguments.gate is None:
        # An agreement has its own margin; a spike asks how high it goes, which is no failure.
        return () if kind in (Kind.AGREEMENT, Kind.SPIKE) else tuple(map(parse_gate, GATES))
    return tuple(dict.fromkeys(map(parse_gate, arguments.gate)))


def _spawn_rate(arguments: argparse.Namespace, kind: Kind) -> float:
    if arguments.spawn_rate is None:
        return SPIKE_SPAWN_RATE if kind is Kind.SPIKE else 200.0
    rate = float(arguments.spawn_rate)
    if not 1 <= rate <= SPIKE_SPAWN_RATE:
        raise Malformed(f"--spawn-rate is 1 to {SPIKE_SPAWN_RATE:g} users per second.")
    return rate


def _processes(asked: int | None, users: int) -> int:
    if asked is None:
        return max(1, min(usable_cores() - 1, math.ceil(users / USERS_PER_PROCESS)))
    if not 1 <= asked <= 64:
        raise Malformed("--processes is 1 to 64.")
    return asked


def _check_url(url: str, token: str | None) -> None:
    parts = urlsplit(url)
    if parts.scheme != "http" or not parts.hostname:
        raise Malformed(f"--url {url!r}: give it as in http://127.0.0.1:5000; load goes over plain HTTP.")
    if not token:
        raise Malformed("--url needs the operator's token of that server: --token, or SIAR_ADMIN_TOKEN.")


def _announce(order: LoadOrder) -> None:
    plan = order.plan
    print(
        f"{' and '.join(arm.name for arm in plan.arms)} with {', '.join(map(str, order.stages or plan.client_counts))} "
        f"users, {plan.rate_hz:g} notifications a second; {order.processes} process"
        f"{'es' if order.processes > 1 else ''} of Locust, {order.spawn_rate:g} users a second.",
        file=sys.stderr,
        flush=True,
    )
