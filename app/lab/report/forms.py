"""Registry of the forms in which a report can be written, by their names for `--format`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TextIO

from app.i18n import LANGUAGES
from app.lab.analysis.analyse import Analysis
from app.lab.report.atomic_files import replace_atomically, write_atomically, write_bytes
from app.lab.report.data import parquet
from app.lab.report.data.csv_files import WRITERS
from app.lab.report.data.result import result_text
from app.lab.report.renderers.html import report_html
from app.lab.report.renderers.markdown import report_markdown
from app.lab.report.renderers.pdf import report_pdf


@dataclass(frozen=True, slots=True)
class ReportRequest:
    """A report to write: the analysis and the options of all forms."""

    analysis: Analysis
    language: str = LANGUAGES[0]
    """Language of forms for people; forms for programs are always in English."""
    figures: Mapping[str, str] | None = None
    """File of each drawing by the drawing's name, where drawings were written; Markdown refers to them."""


Write = Callable[[ReportRequest, Path], object]
Stream = Callable[[ReportRequest, TextIO], object]


@dataclass(frozen=True, slots=True)
class Form:
    """One form of report: how to write it as a single file, as text to a stream, and as files of a folder."""

    write: Write
    """Writes the single file; of CSV and Parquet, this is the table of trials."""
    files: Mapping[str, Write]
    """Writers of the files in a folder, by name."""
    stream: Stream | None = None
    """Writes the single file to a text stream; `None` for binary forms."""
    has_language: bool = False
    """True when the form's texts are translated."""

    def names(self, language: str) -> dict[str, Write]:
        """Return the writers of its files by name. Names carry the language if it is not English, so that both can be kept."""
        if not self.has_language or language == LANGUAGES[0]:
            return dict(self.files)
        stem_and_end = {name: name.rpartition(".") for name in self.files}
        return {f"{stem}.{language}.{end}": self.files[name] for name, (stem, _, end) in stem_and_end.items()}


def _to_file(stream: Stream) -> Write:
    return lambda request, path: write_atomically(path, partial(stream, request))


def _text(name: str, stream: Stream, *, has_language: bool = True) -> Form:
    write = _to_file(stream)
    return Form(write, {name: write}, stream, has_language)


def _csv(name: str) -> Stream:
    return lambda request, file: WRITERS[name](request.analysis, file)


def _parquet(name: str) -> Write:
    return lambda request, path: replace_atomically(
        path, lambda draft: parquet.write_parquet(request.analysis, name, draft)
    )


def _pdf(request: ReportRequest, path: Path) -> None:
    write_bytes(path, report_pdf(request.analysis, request.language))


FORMS: Mapping[str, Form] = {
    "html": _text(
        "report.html", lambda request, file: file.write(report_html(request.analysis, request.language))
    ),
    "md": _text(
        "report.md",
        lambda request, file: file.write(
            report_markdown(request.analysis, request.language, request.figures)
        ),
    ),
    "pdf": Form(_pdf, {"report.pdf": _pdf}, has_language=True),
    "csv": Form(
        _to_file(_csv("trials.csv")), {name: _to_file(_csv(name)) for name in WRITERS}, _csv("trials.csv")
    ),
    "json": _text(
        "result.json", lambda request, file: file.write(result_text(request.analysis)), has_language=False
    ),
    "parquet": Form(_parquet("trials"), {f"{name}.parquet": _parquet(name) for name in parquet.COLUMNS}),
}
