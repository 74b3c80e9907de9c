"""`report.pdf`: the document on A4, for printing and for filing.

`report.typ` says how each block looks; this hands it the blocks as data.
"""

from __future__ import annotations

import json
import re
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import unescape

from app.analysis.analyse import Analysis
from app.catalogues import LANGUAGES
from app.report.contents import document_of
from app.report.document import Document
from app.report.drawings import colours, standalone
from app.report.figure import Drawing
from app.report.translation import in_language
from app.report.typeset import need, typeset

_TEMPLATE = Path(__file__).with_name("report.typ")
_DESCRIPTION = re.compile(r"<desc[^>]*>([^<]*)</desc>")


def report_pdf(analysis: Analysis, language: str = LANGUAGES[0]) -> bytes:
    """The report as a PDF, the same bytes for the same run and version of Typst. Raises `Unfit`."""
    return pdf_of(in_language(document_of(analysis), language), analysis.run.id)


def pdf_of(document: Document, run: str) -> bytes:
    """A document as a PDF; `run` stands at the foot of each page. Raises `Unfit`."""
    need("A PDF")
    report = {**_plain(document), "run": run, "colours": colours()}
    return typeset(_TEMPLATE, {"report": json.dumps(report)})


def _plain(value: Any) -> Any:
    """Blocks as plain values that say which block they are."""
    if isinstance(value, Drawing):
        described = _DESCRIPTION.search(value.svg)
        return {
            "heading": value.heading,
            "svg": standalone(value.svg),
            "described": unescape(described[1]) if described else value.heading,
        }
    if is_dataclass(value) and not isinstance(value, type):
        values = {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
        return {"block": type(value).__name__, **values}
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    return value
