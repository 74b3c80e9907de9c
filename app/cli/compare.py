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
from app.core.exit_codes import EXIT_FAILURE, EXIT_OK
from app.core.gate_verdict import gates_exit_code
from app.core.plan.scenario import LIVE_PROFILE
from app.i18n import speaker, terminal_language
from app.lab.analysis.comparable import objections
from app.lab.analysis.compare_runs import compare_runs
from app.lab.analysis.runs_gate import runs_gate
from app.lab.report.atomic_files import write_atomically
from app.lab.report.contents.comparison import comparison_document, run_names
from app.lab.report.data.comparison import compared_json
from app.lab.report.renderers.console.document import print_document
from app.lab.report.renderers.console.page import Page
from app.lab.report.statements import gate_sentence


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
    parser.add_argument(
        "--gate",
        action="store_true",
        help="exit with 99 when a figure got worse, with 3 when one cannot be judged",
    )


def execute(arguments: argparse.Namespace) -> int:
    """Compare and print. Returns 0 if compared, 1 if not comparable; with `--gate` that of its verdict."""
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
    say = speaker(terminal_language(os.environ))
    print_document(document, Page(console, say))
    if arguments.json is not None:
        text = json.dumps(compared_json(analyses), indent=1, allow_nan=False, default=str) + "\n"
        write_atomically(arguments.json, lambda file: file.write(text))
    if objections([each.run for each in analyses]) and not arguments.anyway:
        return EXIT_FAILURE
    if not arguments.gate:
        return EXIT_OK
    gate = runs_gate(analyses, compare_runs(analyses))
    names = dict(
        zip([each.run.id for each in analyses], run_names([each.run for each in analyses]), strict=True)
    )
    del names[analyses[0].run.id]
    console.print(say(gate_sentence(gate, names, analyses[0].noun)), soft_wrap=True, markup=False)
    return gates_exit_code([gate.verdict])
