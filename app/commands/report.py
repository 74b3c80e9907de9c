"""`./siar report RUN`: the report of a run, drawn again from its raw deliveries."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console

from app import settings as settings_module
from app.analysis.analyse import Analysis, analyse
from app.analysis.live import live_rows
from app.commands import measuring
from app.core.errors import Malformed
from app.core.scenario import LIVE_PROFILE
from app.core.trial import RunRecord
from app.measure.store import Store
from app.report.csv_files import write_trials
from app.report.display_text import print_display
from app.report.files import write_atomically
from app.report.html import report_html
from app.report.result import result_text
from app.report.terminal import print_live, print_result


def _text(analysis: Analysis, file: TextIO) -> None:
    print_result(analysis, Console(file=file, width=measuring.PIPED_COLUMNS, highlight=False))


FORMATS: dict[str, Callable[[Analysis, TextIO], object]] = {
    "text": _text,
    "html": lambda analysis, file: file.write(report_html(analysis)),
    "json": lambda analysis, file: file.write(result_text(analysis)),
    "csv": write_trials,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which run, in which form, and where to."""
    parser.add_argument("run", metavar="RUN", help="id of a run (`siar runs`) or path of its folder")
    parser.add_argument("--format", choices=list(FORMATS), default="text", help="default: text")
    parser.add_argument(
        "--output", type=Path, metavar="PATH", help="file to write (default: standard output)"
    )


def execute(arguments: argparse.Namespace) -> int:
    """Draw."""
    settings = settings_module.read(os.environ)
    folder = measuring.find_run(arguments.run, settings)
    with Store.open(folder) as store:
        run, samples = store.load(), store.samples()
    if run.plan.profile == LIVE_PROFILE:
        return _show_live(run, samples, arguments)
    analysis = analyse(run)

    def write(file: TextIO) -> None:
        FORMATS[arguments.format](analysis, file)
        if arguments.format == "text":
            print_display(samples, Console(file=file, width=measuring.PIPED_COLUMNS, highlight=False))

    if arguments.output is None:
        write(sys.stdout)
    else:
        write_atomically(arguments.output, write)
    return 0


def _show_live(run: RunRecord, samples: list[dict[str, Any]], arguments: argparse.Namespace) -> int:
    """What phones posted; a live run has no trials, and so only a table and the raw samples as JSON."""
    if arguments.format not in ("text", "json"):
        raise Malformed("A live run has no trials to draw; --format text and json show what phones posted.")

    def write(file: TextIO) -> None:
        if arguments.format == "json":
            json.dump({"run": run.id, "samples": samples}, file, indent=1)
            file.write("\n")
        else:
            print_live(
                run, live_rows(samples), Console(file=file, width=measuring.PIPED_COLUMNS, highlight=False)
            )
            print_display(samples, Console(file=file, width=measuring.PIPED_COLUMNS, highlight=False))

    if arguments.output is None:
        write(sys.stdout)
    else:
        write_atomically(arguments.output, write)
    return 0
