"""`report.md`: the document as Markdown (CommonMark with GitHub's tables), for a README, an issue or a thesis.

Text is escaped, so that no name of an arm becomes a heading, a link or an element.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from app.i18n import LANGUAGES
from app.lab.analysis.analyse import Analysis
from app.lab.report.contents.sections import document_of
from app.lab.report.document import (
    Block,
    Cautions,
    Document,
    Drawn,
    Findings,
    Folded,
    Heading,
    Kind,
    Listing,
    Numbers,
    Paragraph,
    Table,
    drawing_name,
)
from app.lab.report.translation import in_language

_SPECIAL = re.compile(r"([\\*_<|~]|&(?=#|\w+;)|\](?=[(\[:]))")
"""Characters that may begin markup anywhere in a line. Backticks are our own markup, and brackets of intervals are harmless."""

_BEGINS_A_BLOCK = re.compile(r"^(?:([-+](?=\s)|[=#>])|(\d+)([.)])(?=\s))")
"""Beginnings of a line that make it a list, a rule, a quotation or a heading."""


def report_markdown(
    analysis: Analysis, language: str = LANGUAGES[0], figures: Mapping[str, str] | None = None
) -> str:
    """Return the report of a run as Markdown; `figures` has the file of each drawing by name, where they were written."""
    return markdown_of(in_language(document_of(analysis), language), figures or {})


def markdown_of(document: Document, figures: Mapping[str, str]) -> str:
    """Return a document as Markdown. A drawing without a file is left out; its figure still has title, caption and numbers."""
    parts = [f"# {_line(document.title)}"]
    for each in document.opening:
        parts += _paragraph(each)
    for section in document.sections:
        parts.append(f"## {_line(section.title)}")
        for block in section.blocks:
            parts += _block(block, figures)
    parts += ["---", _line(document.closing)]
    return "\n\n".join(parts) + "\n"


def _block(block: Block, figures: Mapping[str, str]) -> Iterator[str]:
    match block:
        case Heading(text):
            yield f"### {_line(text)}"
        case Paragraph():
            yield from _paragraph(block)
        case Findings(items, main):
            mark = "**" if main else ""
            yield _list(
                [f"{mark}{_line(each.text)}{mark}" if each.decided else _line(each.text) for each in items]
            )
        case Cautions(items):
            yield _list([f"{_line(str(each.seen))} *{_line(str(each.advice))}*" for each in items])
        case Listing(items):
            yield _list(list(map(_line, items)))
        case Numbers(title, table, titled):
            if titled:
                yield f"#### {_line(title)}"
            yield _table(table)
        case Drawn():
            yield from _drawn(block, figures)
        case Folded(summary, blocks):
            yield f"### {_line(summary)}"
            for each in blocks:
                yield from _block(each, figures)


def _paragraph(paragraph: Paragraph) -> Iterator[str]:
    text = _line(str(paragraph.text))
    is_seen = paragraph.kind in (Kind.LABEL, Kind.WARNING)
    yield f"> {text}" if is_seen else text


def _drawn(block: Drawn, figures: Mapping[str, str]) -> Iterator[str]:
    figure = block.figure
    number = f"{block.number}. " if block.number else ""
    yield f"### {number}{_line(figure.title)}"
    for drawing in figure.drawings:
        if path := figures.get(drawing_name(drawing)):
            yield f"![{_line(f'{figure.title}: {drawing.heading}')}](<{path}>)"
    yield _line(f"{figure.caption} {block.settings}")
    yield _table(figure.table)


def _table(table: Table) -> str:
    """Return a pipe table with figures aligned right and words aligned left."""
    sides = [":--" if place in table.words else "--:" for place in range(len(table.headings))]
    rows: list[Sequence[str]] = [
        [*map(_cell, table.headings)],
        sides,
        *([*map(_cell, row)] for row in table.rows),
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _cell(text: str) -> str:
    return " ".join(_SPECIAL.sub(r"\\\1", text.replace("`", "'")).split()) or " "


def _list(items: Sequence[str]) -> str:
    return "\n".join(f"- {each}" for each in items)


def _line(text: str) -> str:
    """Return a text as one line of Markdown that is shown literally, except for code between backticks."""
    pieces = " ".join(text.split()).split("`")
    if len(pieces) % 2 == 0:  # An unpaired backtick would open a span that nothing closes.
        pieces = ["'".join(pieces)]
    escaped = [piece if place % 2 else _SPECIAL.sub(r"\\\1", piece) for place, piece in enumerate(pieces)]
    return _BEGINS_A_BLOCK.sub(_harmless, "`".join(escaped))


def _harmless(found: re.Match[str]) -> str:
    sign, number, dot = found.groups()
    return f"\\{sign}" if sign else f"{number}\\{dot}"
