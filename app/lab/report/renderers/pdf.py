"""`report.pdf`: the document on A4, for printing and for filing.

The template `report.typ` lays out the blocks, which it receives as JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from app.core.messages import Message, Say
from app.i18n import LANGUAGES, speaker
from app.lab.analysis.analyse import Analysis
from app.lab.report.contents.sections import document_of
from app.lab.report.document import Document, Drawing, Kind, Table
from app.lab.report.renderers.standalone import colours, standalone
from app.lab.report.renderers.typeset import need, typeset

PAGE_PT = 493.0
"""Width between the margins of A4."""

SIZE_PT = 7.5
SIZE_PT_MIN = 4.6
"""Limits of the font size of a table, which is reduced until the table fits the page."""

EM_PER_CHAR = 0.56
"""Average width of a letter or digit of Siar Sans; an upper estimate."""

COLUMN_CHARS_MIN = 3
WORDS_CHARS_MAX = 22
"""Width of a column of words above which its cells are wrapped."""

COLUMN_GAP_CHARS = 2

_BREAKS = re.compile(r"[\s._/-]+")
"""Characters after which a long word may be wrapped."""

_TEMPLATE = Path(__file__).with_name("report.typ")


def report_pdf(analysis: Analysis, language: str = LANGUAGES[0]) -> bytes:
    """Return the report as a PDF. The same run and version of Typst give the same bytes. Raises `Unfit` without Typst."""
    return pdf_of(document_of(analysis), analysis.run.id, language)


def pdf_of(document: Document, run: str, language: str = LANGUAGES[0]) -> bytes:
    """Return a document as a PDF with `run` in the footer of each page. Raises `Unfit` without Typst."""
    need("A PDF")
    report = {
        **_plain(document, speaker(language)),
        "language": language,
        "run": run,
        "colours": colours(),
    }
    return typeset(_TEMPLATE, {"report": json.dumps(report)})


def _plain(value: Any, say: Say) -> Any:
    """Return blocks as plain values, with text in place of messages; `block` is the name of a block's class."""
    if isinstance(value, Drawing):
        return {
            "heading": say(value.heading),
            "svg": standalone(value.picture, say),
            "described": say(value.picture.description),
        }
    if isinstance(value, Table):
        headings = list(map(say, value.headings))
        rows = [list(map(say, row)) for row in value.rows]
        return {
            "headings": headings,
            "rows": rows,
            "words": sorted(value.words),
            **_layout(headings, rows, value.words),
        }
    if isinstance(value, Kind):
        return value
    if isinstance(value, str | Message):
        return say(value)
    if is_dataclass(value) and not isinstance(value, type):
        values = {each.name: _plain(getattr(value, each.name), say) for each in fields(value)}
        return {"block": type(value).__name__, **values}
    if isinstance(value, tuple | list):
        return [_plain(each, say) for each in value]
    return value


def _layout(headings: Sequence[str], rows: Sequence[Sequence[str]], words: Collection[int]) -> dict[str, Any]:
    """Return a table's font size and column weights; weights are null where every cell fits on one line."""
    columns = list(zip(headings, *rows, strict=True))
    natural = sum(max(map(len, column)) + COLUMN_GAP_CHARS for column in columns)
    if natural * EM_PER_CHAR * SIZE_PT <= PAGE_PT:
        return {"size_pt": SIZE_PT, "weights": None}
    weights = [_column_chars(column, is_words=place in words) for place, column in enumerate(columns)]
    size_pt = PAGE_PT / (sum(weights) * EM_PER_CHAR)
    return {"size_pt": round(max(SIZE_PT_MIN, min(SIZE_PT, size_pt)), 2), "weights": weights}


def _column_chars(column: Sequence[str], *, is_words: bool) -> int:
    """Return the characters that a column needs: figures stay on one line, words and headings may be wrapped."""
    heading, *cells = column
    longest_word = max(
        len(word) for text in (heading, *(cells if is_words else ())) for word in _BREAKS.split(text)
    )
    longest = max(map(len, cells), default=0)
    wanted = max(longest_word, min(longest, WORDS_CHARS_MAX) if is_words else longest)
    return max(wanted, COLUMN_CHARS_MIN) + COLUMN_GAP_CHARS
