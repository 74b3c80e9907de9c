"""`./siar compare RUN RUN [...]`: compare runs with the first one: settings, figures, and named regressions."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from rich.console import Console

from app import settings as settings_module
from app.cli import measuring
from app.core.errors import Malformed
from app.core.exit_codes import EXIT_FAILURE, EXIT_GATE, EXIT_OK
from app.core.plan.scenario import LIVE_PROFILE
from app.i18n import speaker, terminal_language
from app.lab.analysis.comparable import objections
from app.lab.report.atomic_files import write_atomically
from app.lab.report.contents.comparison import comparison_document
from app.lab.report.data.comparison import compared_json
from app.lab.report.renderers.console.document import print_document
from app.lab.report.renderers.console.page import Page


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the runs to compare, and the flags for output and for the gate."""
    parser.add_argument(
        "runs", nargs="+", metavar="RUN", help="ids or folders; the first is what the others are set against"
    )
    parser.add_argument(
        "--json", type=Path, metavar="PATH", help="write the comparison as JSON there as well"
    )
    parser.add_argument(
        "--anyway", action="store_true", help="show figures of runs that are not comparable, and say so"
    )
    parser.add_argument("--gate", action="store_true", help="exit with 99 when something got worse")


def execute(arguments: argparse.Namespace) -> int:
    """Compare and print. Returns 0 if compared, 1 if not comparable, 99 for a regression with `--gate`."""
    if len(arguments.runs) < 2:
        raise Malformed("A comparison needs two runs or more, as in: siar compare RUN RUN.")
    if arguments.json is not None:
        measuring.check_json_path(arguments.json)
    settings = settings_module.read(os.environ)
    folders = [measuring.find_run(name, settings) for name in arguments.runs]
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise Malformed("A run is named twice; it does not differ from itself.")
    analyses = [measuring.load(folder) for folder in folders]
    if live := [each.run.id for each in analyses if each.run.plan.profile == LIVE_PROFILE]:
        raise Malformed(f"{live[0]} is a live run: it has no trials to compare. `siar report` shows it.")
    console = Console(width=None if sys.stdout.isatty() else measuring.PIPED_COLUMNS, highlight=False)
    document = comparison_document(analyses, anyway=arguments.anyway)
    print_document(document, Page(console, speaker(terminal_language(os.environ))))
    found = compared_json(analyses)
    if arguments.json is not None:
        text = json.dumps(found, indent=1, allow_nan=False, default=str) + "\n"
        write_atomically(arguments.json, lambda file: file.write(text))
    if objections([each.run for each in analyses]) and not arguments.anyway:
        return EXIT_FAILURE
    return EXIT_GATE if arguments.gate and found["regressions"] else EXIT_OK
