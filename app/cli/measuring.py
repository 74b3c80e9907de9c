"""Shared parts of the commands that measure: own server, plan, figures, files, exit code."""

from __future__ import annotations

import argparse
import os
import secrets
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from app import settings as settings_module
from app.cli import arm_servers, signals
from app.core.errors import Malformed, SiarError, Unknown
from app.core.exit_codes import EXIT_FAILURE, EXIT_INTERRUPTED, EXIT_OK, EXIT_UNFIT
from app.core.plan.scenario import Plan
from app.core.wire import TRANSPORTS
from app.i18n import LANGUAGES, Words, terminal_language
from app.lab.analysis.analyse import Analysis, analyse
from app.lab.analysis.first_screen import is_decided
from app.lab.report.atomic_files import write_atomically
from app.lab.report.data.result import result_text
from app.lab.report.files import paths_in, write_all
from app.lab.report.renderers.console.result import print_details, print_first_screen
from app.lab.run import server_process
from app.lab.run.runner import run_plan
from app.lab.run.terminal_progress import for_stream
from app.settings import Settings
from app.store import run_ids as naming
from app.store.store import Store

OURS = frozenset(
    f"SIAR_{name}"
    for name in (
        "HOST",
        "PORT",
        "ADMIN_TOKEN",
        "RUNS_DIR",
        "RUN",
        "RECORDER",
        "ANCHOR_US",
        "TIMEBASE",
        "PARENT_PIPE_FD",
        "TRUSTED_PROXIES",
        "OPERATOR_KEY",
        "FIRST_LINK",
    )
)
"""Settings that an experiment sets for its own server; all other `SIAR_*` variables are passed on from the user."""

PIPED_COLUMNS = 100
"""Output width for a file or a pipe: rich would use 80 columns there and break words in tables."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags that every measuring command has."""
    parser.add_argument(
        "--seed", type=int, metavar="N", help="order of the trials (default: random, printed)"
    )
    parser.add_argument(
        "--json", type=Path, metavar="PATH", help="write the machine-readable result there as well"
    )
    parser.add_argument(
        "--instrument",
        action=argparse.BooleanOptionalAction,
        help="whether the server records when the kernel took what, to split delays (default: the plan's, the demo's is yes)",
    )
    add_ending_arguments(parser)


def add_ending_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags for what is printed at the end of a run, in which language, and for the exit code."""
    parser.add_argument(
        "--lang", choices=LANGUAGES, help="language of what is printed (default: the locale's)"
    )
    parser.add_argument(
        "--verbose", action="store_true", help="print every figure at the end, not only the first screen"
    )
    parser.add_argument(
        "--strict", action="store_true", help="exit with 3 if no comparison of delays was decided"
    )


@dataclass(frozen=True, slots=True)
class Ending:
    """Options for the end of a run: the output, its language, and the exit code."""

    language: str
    is_verbose: bool = False
    is_strict: bool = False
    json_path: Path | None = None
    plan_file: str | None = None
    """Path of the file that the plan was read from."""


def ending_of(arguments: argparse.Namespace) -> Ending:
    """Return the flags of `add_arguments`. Raises `Malformed` if the JSON file cannot be written."""
    if arguments.json is not None:
        check_json_path(arguments.json)
    plan_file = getattr(arguments, "plan", None)
    return Ending(
        terminal_language(os.environ, arguments.lang),
        arguments.verbose,
        arguments.strict,
        arguments.json,
        None if plan_file is None else str(plan_file),
    )


def instrumented(plan: Plan, wanted: bool | None) -> Plan:  # noqa: FBT001 - a flag as argparse has it
    """Return the plan with the flag `--instrument` applied, if it was given."""
    return plan if wanted is None else replace(plan, instrument=wanted)


def parse_arms(text: str) -> list[str]:
    """Parse a list such as `sse,socketio`; the same name twice makes an A/A run. Raises `Malformed`."""
    names = [each.strip() for each in text.split(",") if each.strip()]
    for name in names:
        if name not in TRANSPORTS:
            raise Malformed(f'"{name}" is no transport; there are: {", ".join(TRANSPORTS)}.')
    if not names:
        raise Malformed(f"--arms needs at least one of: {', '.join(TRANSPORTS)}.")
    return names


def seed_or_random(seed: int | None) -> int:
    """Return the given seed, or a random one short enough to be typed again."""
    return secrets.randbelow(1_000_000) if seed is None else seed


def measure(plan: Plan, ending: Ending) -> int:
    """Run the plan on a server of its own, print and write the result. Returns the exit code.

    A failure in mid-run is reported after the results measured before it, and so is an end from outside.
    Raises `SiarError` when there is no run to show.
    """
    settings = settings_module.read(os.environ)
    given = given_settings()
    common = {**given, "SIAR_RECORDER": "0"}
    run_id = naming.new_run_id()
    folder = settings.runs_dir / run_id
    failure: SiarError | None = None
    try:
        with (
            server_process.start(
                runs_dir=settings.runs_dir,
                settings={**common, **arm_servers.clock_settings()},
                # Any free port, unless the user sets one, for example because a proxy forwards to it.
                port=settings.port if "SIAR_PORT" in os.environ else None,
            ) as serving,
            arm_servers.started(plan, runs_dir=settings.runs_dir, settings=common, run_id=run_id) as others,
        ):
            run_plan(
                plan,
                server=serving.server,
                runs_dir=settings.runs_dir,
                run_id=run_id,
                progress=for_stream(sys.stderr, ending.language),
                settings=given,
                others=others,
            )
    except KeyboardInterrupt:
        if not folder.is_dir():
            raise
    except SiarError as error:
        if not folder.is_dir():
            raise
        failure = error
    analysis = report(folder, ending)
    if failure is not None:
        sys.stdout.flush()
        print(f"siar: {failure}", file=sys.stderr)
        return EXIT_FAILURE
    return exit_code(analysis, is_strict=ending.is_strict)


def check_json_path(path: Path, flag: str = "--json") -> None:
    """Check before the run that the file can be written. `flag`: the flag that named it. Raises `Malformed`."""
    if not path.absolute().parent.is_dir():
        raise Malformed(f"{flag} {path}: there is no folder {path.absolute().parent}.")
    if path.is_dir():
        raise Malformed(f"{flag} {path}: this is a folder; name a file in it.")
    if not os.access(path if path.exists() else path.absolute().parent, os.W_OK):
        raise Malformed(f"{flag} {path}: this place may not be written to.")


def load(folder: Path) -> Analysis:
    """Load a stored run and analyse it. Raises `StoreError`."""
    with Store.open(folder) as store:
        return analyse(store.load())


def report(folder: Path, ending: Ending, analysis: Analysis | None = None) -> Analysis:
    """Analyse a run and write the report's files; print the result and what to do next.

    `analysis`: that of a run whose files are written already.
    """
    paths = paths_in(folder)
    with signals.held():
        if analysis is None:
            analysis = load(folder)
            write_all(analysis, folder)
        if ending.json_path is not None:
            write_atomically(ending.json_path, lambda file: file.write(result_text(analysis)))
    console = Console(width=None if sys.stdout.isatty() else PIPED_COLUMNS, highlight=False)
    print_first_screen(analysis, console, language=ending.language, plan_file=ending.plan_file)
    if ending.is_verbose:
        print_details(analysis, console, language=ending.language)
    print(*_last_lines(analysis, paths, ending), sep="\n")
    return analysis


def _last_lines(analysis: Analysis, paths: Sequence[Path], ending: Ending) -> list[str]:
    """Return the lines on the run's files and on other commands, after an empty one."""
    words, run = Words(ending.language), analysis.run
    lines = ["", words.say("measured.report", path=paths[0])]
    if ending.is_verbose:
        lines.append(words.say("measured.beside", names=", ".join(path.name for path in paths[1:])))
        lines.append(words.say("measured.verify", run=run.id))
    else:
        lines.append(words.say("measured.more", run=run.id))
    lines.append(words.say("measured.same_order", seed=run.plan.seed))
    if not analysis.phones:
        lines.append(words.say("measured.phones"))
    return lines


def exit_code(analysis: Analysis, *, is_strict: bool = False) -> int:
    """Return 0 when every trial was completed and every notification arrived.

    Findings about validity change the verdict, not the exit code, unless `is_strict`: then it is 3 if nothing was decided.
    """
    code = _completion_code(analysis)
    return EXIT_UNFIT if code == EXIT_OK and is_strict and not any_decided(analysis) else code


def any_decided(analysis: Analysis) -> bool:
    """Return True if a difference or an equivalence of delays was found at any count of clients."""
    return any(map(is_decided, analysis.verdicts))


def _completion_code(analysis: Analysis) -> int:
    if not analysis.run.complete:
        stopped = analysis.run.conditions.get("stopped") == "on request"
        return EXIT_INTERRUPTED if stopped else EXIT_FAILURE
    if analysis.phones:  # A phone that slept or left makes its trial invalid, and the trial is repeated.
        return EXIT_OK if analysis.totals.lost == analysis.totals.lost_in_void else EXIT_FAILURE
    ran = all(trial.record.completed for trial in analysis.trials)
    return EXIT_OK if ran and analysis.totals.lost == 0 else EXIT_FAILURE


def find_run(name: str, settings: Settings) -> Path:
    """Return the folder of a run, given its id or its path. Raises `Unknown`."""
    for folder in (settings.runs_dir / name, Path(name)):
        if folder.is_dir():
            return folder
    raise Unknown(
        f"There is no run {name!r}: neither in {settings.runs_dir} nor as a path. `siar runs` lists them."
    )


def given_settings() -> dict[str, str]:
    """Return the user's own `SIAR_*` variables, for the experiment's server and for the run's conditions."""
    return {
        name: text
        for name, text in os.environ.items()
        if name.startswith("SIAR_") and name not in OURS and name not in settings_module.NOT_SETTINGS
    }
