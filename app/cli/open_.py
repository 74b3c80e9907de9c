"""`./siar open [RUN]`: show the report of the newest run, or of the one named, in the browser."""

from __future__ import annotations

import argparse
import os
import sys
import webbrowser
from pathlib import Path

from app import settings as settings_module
from app.cli.measuring import find_run
from app.core.errors import Unknown
from app.core.exit_codes import EXIT_OK
from app.i18n import LANGUAGES, Words, terminal_language
from app.settings import Settings
from app.store.archive.run_index import RunIndex

REPORTS = ("load.html", "report.html")
"""A load run has both pages, and its own one comes first."""

DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY")
"""Variables of which a desktop sets one; without any, Linux has only browsers that would take over the terminal."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the run and the flag that only prints."""
    parser.add_argument(
        "run",
        nargs="?",
        metavar="RUN",
        help="id of a run (`siar runs`) or path of its folder (default: the newest that has a report)",
    )
    parser.add_argument("--print", action="store_true", help="print the report's path, and open nothing")
    parser.add_argument(
        "--lang", choices=LANGUAGES, help="language of what is printed (default: the locale's)"
    )


def execute(arguments: argparse.Namespace) -> int:
    """Print the path of the report, and open it in the browser if there is one. Returns exit code 0.

    Raises `Unknown` without such a run, or without a report.
    """
    report = _wanted(arguments.run, settings_module.read(os.environ)).resolve()
    if arguments.print:
        print(report)
        return EXIT_OK
    words = Words(terminal_language(os.environ, arguments.lang))
    print(words.say("open.path", path=report), flush=True)
    if not _has_display() or not webbrowser.open(report.as_uri()):
        print(words.say("open.no_browser"))
    return EXIT_OK


def _wanted(run: str | None, settings: Settings) -> Path:
    if run is not None:
        folder = find_run(run, settings)
        if (report := _report_in(folder)) is None:
            raise Unknown(f"{folder} has no report; `siar report {run} --format html` draws one.")
        return report
    runs_dir = settings.runs_dir
    reports = (_report_in(runs_dir / each.id) for each in RunIndex(runs_dir).newest())
    if (report := next(filter(None, reports), None)) is None:
        raise Unknown(f"No run in {runs_dir} has a report. `siar demo` makes one.")
    return report


def _report_in(folder: Path) -> Path | None:
    return next((folder / name for name in REPORTS if (folder / name).is_file()), None)


def _has_display() -> bool:
    return sys.platform != "linux" or any(os.environ.get(name) for name in DISPLAYS)
