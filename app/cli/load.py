"""`./siar load`: Locust, headless, 50 to thousands of users, with gates."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from rich.console import Console

from app import clock
from app import settings as settings_module
from app.cli import signals
from app.cli.load_order import GATES, order_of
from app.cli.measuring import any_decided, check_json_path, find_run, given_settings, load
from app.core.errors import Malformed, SiarError
from app.core.exit_codes import EXIT_FAILURE, EXIT_INTERRUPTED, EXIT_OK, EXIT_UNFIT
from app.core.messages import Message
from app.i18n import LANGUAGES, Words, terminal_language, text
from app.lab.analysis.analyse import Analysis
from app.lab.analysis.first_screen import first_screen
from app.lab.analysis.headline import counts_phrase
from app.lab.analysis.more_blocks import more_blocks
from app.lab.analysis.words import arm_title
from app.lab.report.contents.first_screen import repetitions
from app.lab.run.terminal_progress import for_stream
from app.store import run_ids as naming
from app.tools.load import trial_line, vps
from app.tools.load.files import write_load
from app.tools.load.gates import Gate, parse_gate
from app.tools.load.plan import BLOCKS, QUICK_BLOCKS, USERS, LoadOrder
from app.tools.load.result import LoadResult, load_result
from app.tools.load.run import LoadRun
from app.tools.load.show import print_load

PIPED_COLUMNS = 120

AGAIN_TAKES = ("gate", "json", "junit", "lang", "verbose", "strict")
"""Other flags that `--again` accepts: how to judge the run, and where and how to show it."""


NOT_REPEATED = ("blocks", "quick", "seed", "token", "json", "junit", "lang", "verbose", "strict")
"""Flags that the suggested command leaves out. A token is not shown; `SIAR_ADMIN_TOKEN` holds it as well."""


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
    add("--verbose", action="store_true", help="print every figure at the end, not only the first screen")
    add("--strict", action="store_true", help="exit with 3 if no comparison of delays was decided")
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
    language = terminal_language(os.environ, arguments.lang)
    # A server that is already running may be on this machine: it would be named as a program to close.
    progress = for_stream(sys.stderr, language, names_others=order.url is None)
    run = LoadRun(order, settings.runs_dir, naming.new_run_id(), progress, given_settings())
    begun_us, failure = clock.monotonic_us(), None
    print(_announced(order, Words(language)), file=sys.stderr, flush=True)
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
    if failure is not None:
        sys.stdout.flush()
        print(f"siar: {failure}", file=sys.stderr)
        return EXIT_FAILURE
    stopped = analysis.run.conditions.get("stopped") == "on request"
    return EXIT_INTERRUPTED if stopped else _exit_code(arguments, analysis, result)


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
    analysis, result = _show(arguments, folder, gates, 0.0)
    return _exit_code(arguments, analysis, result)


def _exit_code(arguments: argparse.Namespace, analysis: Analysis, result: LoadResult) -> int:
    """Return the code of the gates; if these hold and `--strict` is given, 3 unless a comparison was decided."""
    is_open = arguments.strict and not any_decided(analysis)
    return EXIT_UNFIT if result.exit_code == EXIT_OK and is_open else result.exit_code


def _flags_other_than_again(arguments: argparse.Namespace) -> list[str]:
    return [_flag(name) for name in _given(arguments) if name not in ("again", *AGAIN_TAKES)]


def _given(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the flags that have another value than their default, by name."""
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    usual = vars(parser.parse_args([]))
    return {
        name: getattr(arguments, name) for name, value in usual.items() if getattr(arguments, name) != value
    }


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


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
    print_load(analysis, result, console, language, is_brief=not arguments.verbose)
    words = Words(language)
    last = [*_next_step(arguments, analysis, language), words.say("measured.report", path=paths[0])]
    if arguments.verbose:
        last.append(words.say("measured.beside", names=", ".join(path.name for path in paths[1:])))
    else:
        last.append(words.say("measured.more_load", run=folder.name))
    last.append(words.say("measured.same_order", seed=analysis.run.plan.seed))
    print("", *last, sep="\n")
    return analysis, result


def _next_step(arguments: argparse.Namespace, analysis: Analysis, language: str) -> list[str]:
    """Return the lines on what may decide the open comparisons of a run in blocks, with the command."""
    open_counts = first_screen(analysis).open_counts
    if not open_counts or not analysis.run.complete or arguments.again is not None:
        return []
    where: dict[str, object] = {"where": counts_phrase(open_counts, analysis.noun)}
    if (more := more_blocks(analysis, open_counts)) is None:
        return [text(Message("screen.decide.never", where), language), ""]
    words = ["./siar", "load"]
    for name, value in _given(arguments).items():
        if name in NOT_REPEATED:
            continue
        values = value if isinstance(value, list) else [] if value is True else [value]
        words += [_flag(name), *map(str, values)]
    command = shlex.join([*words, "--blocks", str(more.blocks)])
    args = {**where, "repetitions": repetitions(analysis, more), "minutes": more.minutes}
    decide = Message("screen.decide", args)
    return [text(decide, language), f"  {command}", ""]


def _announced(order: LoadOrder, words: Words) -> str:
    plan = order.plan
    return words.say(
        "load.announced",
        arms=", ".join(map(arm_title, plan.arms)),
        users=", ".join(map(str, order.stages or plan.client_counts)),
        rate=f"{plan.rate_hz:g}",
        processes=order.processes,
        spawn=f"{order.spawn_rate:g}",
    )
