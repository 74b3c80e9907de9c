"""`./siar report RUN`: draw the report of a run again from its raw deliveries, in any format and language."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TextIO

from rich.console import Console

from app import settings as settings_module
from app.cli import measuring
from app.core.errors import Malformed
from app.core.exit_codes import EXIT_OK
from app.core.plan.scenario import LIVE_PROFILE
from app.core.trial import RunRecord
from app.i18n import LANGUAGES
from app.lab.analysis.analyse import Analysis, analyse
from app.lab.analysis.descriptive.live import live_rows
from app.lab.report.atomic_files import write_atomically
from app.lab.report.contents.sections import document_of
from app.lab.report.data.live_json import write_live
from app.lab.report.forms import FORMS, ReportRequest
from app.lab.report.renderers.console.live import print_display, print_live
from app.lab.report.renderers.console.published import print_published
from app.lab.report.renderers.console.result import print_details, print_first_screen
from app.lab.report.renderers.figure_files import WIDTH_MM, width_mm, write_figures
from app.lab.report.renderers.typeset import REQUIREMENTS, is_installed
from app.store.store import Store

TEXT = "text"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the run, the formats and the destination."""
    parser.add_argument("run", metavar="RUN", help="id of a run (`siar runs`) or path of its folder")
    parser.add_argument(
        "--format",
        default=TEXT,
        metavar="FORMAT[,FORMAT...]",
        help=f"{', '.join([TEXT, *FORMS])} (default: {TEXT}); several are written into the folder that --output names",
    )
    parser.add_argument(
        "--output",
        type=Path,
        metavar="PATH",
        help="file to write, or a folder for the usual names (default: standard output); csv and parquet give the "
        "table of trials to a file, and that of deliveries too to a folder",
    )
    parser.add_argument(
        "--figures",
        type=Path,
        metavar="DIR",
        help="write each drawing there as well: SVG, PNG (600 ppi), PDF",
    )
    parser.add_argument(
        "--size",
        default=f"{WIDTH_MM:g}mm",
        metavar="WIDTH",
        help=f"how wide those are printed, as in 85mm, 8.5cm, 3.35in (default: {WIDTH_MM:g}mm)",
    )
    parser.add_argument(
        "--studies",
        action="store_true",
        help="with text: also the four published studies' tables, this run's numbers in their rows",
    )
    parser.add_argument(
        "--language", choices=LANGUAGES, default=LANGUAGES[0], help="of all but csv, json, parquet"
    )


def execute(arguments: argparse.Namespace) -> int:
    """Write the report in the requested formats."""
    formats = _formats(arguments)
    wide_mm = width_mm(arguments.size)
    settings = settings_module.read(os.environ)
    folder = measuring.find_run(arguments.run, settings)
    with Store.open(folder) as store:
        run = store.load()
        if run.plan.profile == LIVE_PROFILE:
            return _show_live(run, store, arguments)
        analysis = analyse(run)
        figures = _write_figures(analysis, arguments, formats, wide_mm)
        if formats == [TEXT]:
            if arguments.figures is None or arguments.output is not None:
                _output(_result_text(analysis, store, arguments), arguments.output)
            return EXIT_OK
    order = ReportRequest(analysis, arguments.language, figures)
    for path in _write_formats(formats, order, arguments.output):
        print(path, file=sys.stderr)
    return EXIT_OK


def _formats(arguments: argparse.Namespace) -> list[str]:
    """Return the requested formats without duplicates. Raises `Malformed` before anything is read."""
    formats = list(dict.fromkeys(each.strip() for each in arguments.format.split(",") if each.strip()))
    for name in formats or [""]:
        if name not in (TEXT, *FORMS):
            raise Malformed(
                f'--format: "{name}" is no form of a report; there are: {", ".join([TEXT, *FORMS])}.'
            )
    if TEXT in formats and len(formats) > 1:
        raise Malformed("--format text goes to a terminal or a file of its own; ask for it alone.")
    if arguments.studies and formats != [TEXT]:
        raise Malformed("--studies is for --format text; the other forms have the studies' tables anyway.")
    if arguments.output is None and (len(formats) > 1 or not _is_text(formats[0])):
        what = (
            "Several forms need a folder"
            if len(formats) > 1
            else f"A {formats[0]} file is no text for a terminal"
        )
        raise Malformed(f"{what}: name it with --output.")
    return formats


def _is_text(name: str) -> bool:
    return name == TEXT or FORMS[name].stream is not None


def _write_figures(
    analysis: Analysis, arguments: argparse.Namespace, formats: Sequence[str], wide_mm: float
) -> dict[str, str] | None:
    """Write the figures as files if `--figures` is given. Returns their paths relative to the report, by name."""
    if arguments.figures is None:
        return None
    written = write_figures(
        document_of(analysis), arguments.figures, wide_mm=wide_mm, language=arguments.language
    )
    forms = "SVG, PNG and PDF" if is_installed() else "SVG"
    print(f"{len(written)} drawings as {forms}: {arguments.figures}", file=sys.stderr)
    if not is_installed():
        print(
            f"siar: PNG and PDF need the package typst: pip install -r {REQUIREMENTS}, or ask with ./siar.",
            file=sys.stderr,
        )
    report_folder = _folder_of(formats, arguments.output)
    return {name: Path(os.path.relpath(path, report_folder)).as_posix() for name, path in written.items()}


def _folder_of(formats: Sequence[str], output: Path | None) -> Path:
    """Return the folder that the report will be written to, as an absolute path."""
    if output is None:
        return Path.cwd()
    return output.absolute() if _is_for_folder(formats, output) else output.absolute().parent


def _is_for_folder(formats: Sequence[str], output: Path) -> bool:
    """Return whether `output` is, or will become, a folder; otherwise it is the file of the only format."""
    return len(formats) > 1 or output.is_dir()


def _write_formats(formats: Sequence[str], order: ReportRequest, output: Path | None) -> list[Path]:
    """Write every format. Returns the written files; none if everything went to standard output."""
    if output is None:
        if stream := FORMS[formats[0]].stream:
            stream(order, sys.stdout)
        return []
    if not _is_for_folder(formats, output):
        FORMS[formats[0]].write(order, output)
        return [output]
    if output.exists() and not output.is_dir():
        raise Malformed(f"--output {output}: several forms need a folder, and this is a file.")
    output.mkdir(parents=True, exist_ok=True)
    paths = []
    for name in formats:
        for file, write in FORMS[name].names(order.language).items():
            write(order, output / file)
            paths.append(output / file)
    return paths


def _result_text(analysis: Analysis, store: Store, arguments: argparse.Namespace) -> str:
    """Return the report as a terminal shows it."""
    file, language = io.StringIO(), arguments.language
    print_first_screen(analysis, _console(file), language=language)
    print_details(analysis, _console(file), language=language)
    print_display(store.each_sample(), _console(file), language=language)
    if arguments.studies:
        print_published(analysis, _console(file), language=language)
    return file.getvalue()


def _console(file: TextIO) -> Console:
    return Console(file=file, width=measuring.PIPED_COLUMNS, highlight=False)


def _output(text: str, output: Path | None) -> None:
    _output_with(lambda file: file.write(text), output)


def _output_with(write: Callable[[TextIO], object], output: Path | None) -> None:
    if output is None:
        write(sys.stdout)
    else:
        write_atomically(output, write)


def _show_live(run: RunRecord, store: Store, arguments: argparse.Namespace) -> int:
    """Show a live run: it has no trials, so only a table and the raw samples as JSON are available."""
    if arguments.format not in (TEXT, "json") or arguments.figures is not None:
        raise Malformed("A live run has no trials to draw; --format text and json show what phones posted.")
    if arguments.format == "json":
        _output_with(lambda file: write_live(file, run.id, store.each_sample()), arguments.output)
        return EXIT_OK
    file = io.StringIO()
    print_live(run, live_rows(store.each_sample()), _console(file), language=arguments.language)
    print_display(store.each_sample(), _console(file), language=arguments.language)
    _output(file.getvalue(), arguments.output)
    return EXIT_OK
