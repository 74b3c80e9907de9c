"""`./siar report RUN`: the report of a run, drawn again from its raw deliveries."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from rich.console import Console

from app import settings as settings_module
from app.analysis.analyse import Analysis
from app.commands import measuring
from app.report.csv_files import write_trials
from app.report.files import write_atomically
from app.report.html import report_html
from app.report.result import result_text
from app.report.terminal import print_result


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
    analysis = measuring.load(measuring.find_run(arguments.run, settings))
    write = FORMATS[arguments.format]
    if arguments.output is None:
        write(analysis, sys.stdout)
    else:
        write_atomically(arguments.output, lambda file: write(analysis, file))
    return 0
