"""`./siar load`: Locust, headless, 50 to thousands of users, with gates."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from rich.console import Console

from app import clock
from app import settings as settings_module
from app.cli import signals
from app.cli.load_order import GATES, order_of
from app.cli.measuring import check_json_path, find_run, given_settings, load
from app.core.errors import Malformed, SiarError
from app.core.exit_codes import EXIT_FAILURE, EXIT_INTERRUPTED
from app.i18n import LANGUAGES, terminal_language
from app.lab.analysis.analyse import Analysis
from app.lab.run.progress import for_stream
from app.store import run_ids as naming
from app.tools.load import trial_line, vps
from app.tools.load.files import write_load
from app.tools.load.gates import Gate, parse_gate
from app.tools.load.plan import BLOCKS, QUICK_BLOCKS, USERS, LoadOrder
from app.tools.load.result import LoadResult, load_result
from app.tools.load.run import LoadRun
from app.tools.load.show import print_load

PIPED_COLUMNS = 120

AGAIN_TAKES = ("gate", "json", "junit", "lang")
"""Other flags that `--again` accepts: how to judge the run, and where and how to show it."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `load`; none is required."""
    add = parser.add_argument
    add("--users", metavar="N,N", help=f"levels (default: {','.join(map(str, USERS))})")
    add(
        "--transport",
        metavar="A,B",
        help="of sse, socketio, socketio-polling (default: the first two; of a preset: socketio)",
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
    add(
        "--preset",
        choices=vps.PRESETS,
        help="instead: the VPS study's experiment, with and without Redis (needs redis-server)",
    )
    add("--processes", type=int, metavar="N", help="of Locust (default: one for 2,000 users, as cores allow)")
    add("--payload", type=int, default=512, metavar="BYTES", help="of a notification (default: 512)")
    add("--url", metavar="URL", help="a server that runs already (default: one of its own)")
    add("--token", metavar="TOKEN", help="its operator's token (default: SIAR_ADMIN_TOKEN)")
    add(
        "--ca",
        type=Path,
        metavar="FILE",
        help="with --url https://...: who vouches for it (PEM; default: whom the system trusts)",
    )
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
    """Run the load test and print its result. Returns the exit code."""
    for flag, path in (("--json", arguments.json), ("--junit", arguments.junit)):
        if path is not None:
            check_json_path(path, flag)
    if arguments.again is not None:
        return _judge_again(arguments)
    order = order_of(arguments)
    if arguments.ca is not None:
        _trust_ca(arguments.ca, order.url)
    settings = settings_module.read(os.environ)
    run = LoadRun(order, settings.runs_dir, naming.new_run_id(), for_stream(sys.stderr), given_settings())
    begun_us, failure = clock.monotonic_us(), None
    _announce(order)
    try:
        run.execute()
    except KeyboardInterrupt:
        if not (run.folder / trial_line.FILE_NAME).is_file():
            raise
    except SiarError as error:
        if not (run.folder / trial_line.FILE_NAME).is_file():
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


def _trust_ca(ca_file: Path, url: str | None) -> None:
    """Make this process and its children verify the server with the certificates of a file. Raises `Malformed`."""
    if url is None or urlsplit(url).scheme != "https":
        raise Malformed("--ca goes with --url https://...: nothing else shows a certificate.")
    if not ca_file.is_file():
        raise Malformed(f"--ca {ca_file}: there is no such file.")
    os.environ["SSL_CERT_FILE"] = str(ca_file.resolve())


def _judge_again(arguments: argparse.Namespace) -> int:
    """Judge a stored run again, with its own gates or those given now. Returns the exit code.

    Raises `Malformed` for flags of a new load test, because no load would be run.
    """
    if others := _flags_other_than_again(arguments):
        takes = ", ".join(f"--{name}" for name in AGAIN_TAKES)
        raise Malformed(f"--again measures nothing and takes only {takes}; leave {', '.join(others)} out.")
    folder = find_run(arguments.again, settings_module.read(os.environ))
    gates = None if arguments.gate is None else tuple(map(parse_gate, arguments.gate))
    _analysis, result = _show(arguments, folder, gates, 0.0)
    return result.exit_code


def _flags_other_than_again(arguments: argparse.Namespace) -> list[str]:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    usual = vars(parser.parse_args([]))
    return [
        f"--{name.replace('_', '-')}"
        for name, value in usual.items()
        if name not in ("again", *AGAIN_TAKES) and getattr(arguments, name) != value
    ]


def _show(
    arguments: argparse.Namespace, folder: Path, gates: Sequence[Gate] | None, duration_s: float
) -> tuple[Analysis, LoadResult]:
    """Write the result's files; print the result and their paths."""
    language = terminal_language(os.environ, arguments.lang)
    with signals.held():
        analysis = load(folder)
        result = load_result(analysis, folder, gates)
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
    print_load(analysis, result, console, language)
    print(f"\nReport: {paths[0]}\nBeside it: {', '.join(path.name for path in paths[1:])}.")
    return analysis, result


def _announce(order: LoadOrder) -> None:
    plan = order.plan
    print(
        f"{' and '.join(arm.name for arm in plan.arms)} with {', '.join(map(str, order.stages or plan.client_counts))} "
        f"users, {plan.rate_hz:g} notifications a second; {order.processes} process"
        f"{'es' if order.processes > 1 else ''} of Locust, {order.spawn_rate:g} users a second.",
        file=sys.stderr,
        flush=True,
    )
