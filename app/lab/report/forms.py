"""Every form that a report can be written in, by the name that `--format` has for it."""

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
class Order:
    """What is asked for."""

    analysis: Analysis
    language: str = LANGUAGES[0]
    """Of the forms for people; those for programs are the same in all."""
    figures: Mapping[str, str] | None = None
    """The file of each drawing by its name, where drawings were written: for forms that cannot hold them."""


Write = Callable[[Order, Path], object]
Stream = Callable[[Order, TextIO], object]


@dataclass(frozen=True, slots=True)
class Form:
    """One form: its single file, and which files it makes in a folder."""

    write: Write
    """Of CSV and Parquet the table of trials."""
    files: Mapping[str, Write]
    stream: Stream | None = None
    """The single file as text to a stream; `None` for what is no text."""
    has_language: bool = False

    def names(self, language: str) -> dict[str, Write]:
        """Its files in a folder by name; another language stands in the name, beside the English one."""
        if not self.has_language or language == LANGUAGES[0]:
            return dict(self.files)
        stem_and_end = {name: name.rpartition(".") for name in self.files}
        return {f"{stem}.{language}.{end}": self.files[name] for name, (stem, _, end) in stem_and_end.items()}


def _to_file(stream: Stream) -> Write:
    return lambda order, path: write_atomically(path, partial(stream, order))


def _text(name: str, stream: Stream, *, has_language: bool = True) -> Form:
    write = _to_file(stream)
    return Form(write, {name: write}, stream, has_language)


def _csv(name: str) -> Stream:
    return lambda order, file: WRITERS[name](order.analysis, file)


def _parquet(name: str) -> Write:
    return lambda order, path: replace_atomically(
        path, lambda draft: parquet.write_parquet(order.analysis, name, draft)
    )


def _pdf(order: Order, path: Path) -> None:
    write_bytes(path, report_pdf(order.analysis, order.language))


FORMS: Mapping[str, Form] = {
    "html": _text("report.html", lambda order, file: file.write(report_html(order.analysis, order.language))),
    "md": _text(
        "report.md",
        lambda order, file: file.write(report_markdown(order.analysis, order.language, order.figures)),
    ),
    "pdf": Form(_pdf, {"report.pdf": _pdf}, has_language=True),
    "csv": Form(
        _to_file(_csv("trials.csv")), {name: _to_file(_csv(name)) for name in WRITERS}, _csv("trials.csv")
    ),
    "json": _text(
        "result.json", lambda order, file: file.write(result_text(order.analysis)), has_language=False
    ),
    "parquet": Form(_parquet("trials"), {f"{name}.parquet": _parquet(name) for name in parquet.COLUMNS}),
}
