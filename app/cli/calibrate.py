"""`./siar calibrate`: test the instrument with known delays, jitter, losses and wrong clocks."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from rich.console import Console

from app.cli import measuring
from app.core.exit_codes import EXIT_FAILURE, EXIT_OK, EXIT_UNFIT
from app.i18n import LANGUAGES, Words, terminal_language
from app.lab.measure import host
from app.lab.report.atomic_files import write_atomically
from app.tools.calibrate import checks, show
from app.tools.calibrate.case import Case, cases
from app.tools.calibrate.result import Judgement, verdict
from app.tools.calibrate.rig import Finished, set_up

EXIT_CODES = {Judgement.RIGHT: EXIT_OK, Judgement.WRONG: EXIT_FAILURE, Judgement.WIDE: EXIT_UNFIT}
"""`EXIT_UNFIT`: nothing was wrong, but the instrument's own error bounds are too wide to
be useful."""

NOTIFICATIONS = 100
"""Notifications per trial: two seconds, after which jitter (RFC 3550) has converged from its start value 0."""

QUICK_NOTIFICATIONS = 50

PIPED_COLUMNS = 120


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `calibrate`; none is required."""
    parser.add_argument("--quick", action="store_true", help="fewer and shorter cases: about 25 s")
    parser.add_argument(
        "--json",
        type=Path,
        metavar="PATH",
        help="write the machine-readable result there as well; - is standard output",
    )
    parser.add_argument("--lang", choices=LANGUAGES, help="language of the sentences (default: the locale's)")


def execute(arguments: argparse.Namespace) -> int:
    """Run all cases and print the comparison.

    Returns 1 when an error exceeded its stated bound, and 3 when a bound was too wide to be useful.
    """
    words = Words(terminal_language(os.environ, arguments.lang), "calibrate")
    on_stdout = str(arguments.json) == "-"
    if arguments.json is not None and not on_stdout:
        measuring.check_json_path(arguments.json)
    notifications = QUICK_NOTIFICATIONS if arguments.quick else NOTIFICATIONS
    conditions = host.conditions(settings={}, server={})
    finished = _run(cases(quick=arguments.quick, notifications=notifications), notifications, words)
    rows = checks.rows(finished)
    found = verdict(rows)
    if arguments.json is not None:
        text = show.as_json(rows, found, words, conditions=conditions, lags_ms_p99=_lags(finished))
        if on_stdout:
            sys.stdout.write(text)
        else:
            write_atomically(arguments.json, lambda file: file.write(text))
    if not on_stdout:
        console = Console(width=None if sys.stdout.isatty() else PIPED_COLUMNS, highlight=False)
        show.print_result(rows, found, words, console)
    return EXIT_CODES[found.judgement]


def _run(wanted: list[Case], notifications: int, words: Words) -> list[Finished]:
    finished = []
    with (
        tempfile.TemporaryDirectory(prefix="siar-calibrate-") as folder,
        set_up(Path(folder), notifications=notifications) as rig,
        show.Progress(sys.stderr, words, seconds=[rig.seconds(case) for case in wanted]) as progress,
    ):
        for case in wanted:
            progress.next(case)
            finished.append(rig.run(case))
    return finished


def _lags(finished: list[Finished]) -> dict[str, float | None]:
    """Return the lag of the clients' event loop (p99, ms) by trial; the bounds of delays and jitter use it."""
    return {
        f"{number} {each.case.transport} {each.case.code}": each.record.client_loop_lag_ms_p99
        for number, each in enumerate(finished)
    }
