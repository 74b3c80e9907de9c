"""`report.md`: the document as Markdown (CommonMark with GitHub's tables), for a README, an issue or a thesis.

Text is escaped, so that no name of an arm becomes a heading, a link or an element.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from app.core.messages import Say, Text
from app.i18n import LANGUAGES, speaker
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
    Opening,
    Paragraph,
    Table,
)

_SPECIAL = re.compile(r"([\\*_<|~]|&(?=#|\w+;)|\](?=[(\[:]))")
"""Characters that may begin markup anywhere in a line. Backticks are our own markup, and brackets of intervals are harmless."""

_BEGINS_A_BLOCK = re.compile(r"^(?:([-+](?=\s)|[=#>])|(\d+)([.)])(?=\s))")
"""Beginnings of a line that make it a list, a rule, a quotation or a heading."""


def report_markdown(
    analysis: Analysis, language: str = LANGUAGES[0], figures: Mapping[str, str] | None = None
) -> str:
    """Return the report of a run as Markdown; `figures` has the file of each drawing by name, where they were written."""
    return markdown_of(document_of(analysis), figures or {}, language)


def markdown_of(document: Document, figures: Mapping[str, str], language: str = LANGUAGES[0]) -> str:
    """Return a document as Markdown. A drawing without a file is left out; its figure still has title, caption and numbers."""
    return _Writer(speaker(language), figures).document(document)


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writes the blocks of a document in one language."""

    say: Say
    figures: Mapping[str, str]

    def document(self, document: Document) -> str:
        parts = list(self._opening(document))
        for section in document.sections:
            parts.append(f"## {self._line(section.title)}")
            for block in section.blocks:
                parts += self._block(block)
        parts += ["---", self._line(document.closing)]
        return "\n\n".join(parts) + "\n"

    def _opening(self, document: Document) -> Iterator[str]:
        screen = document.opening
        if not isinstance(screen, Opening):
            yield f"# {self._line(document.title)}"
            yield from map(self._paragraph, screen)
            return
        yield f"# {self._line(screen.answer)}"
        yield self._line(screen.setting)
        yield self._line(screen.deliveries)
        if screen.delays is not None:
            yield self._table(screen.delays.table)
        if (strip := screen.strip) is not None:
            command = None if strip.command is None else f"`{strip.command}`"
            said = (each for each in (strip.seen, strip.advice, strip.step, command) if each is not None)
            yield f"> {' '.join(map(self._line, said))}"
        yield from map(self._paragraph, screen.notes)

    def _block(self, block: Block) -> Iterator[str]:
        match block:
            case Heading(text):
                yield f"### {self._line(text)}"
            case Paragraph():
                yield self._paragraph(block)
            case Findings(items, main):
                mark = "**" if main else ""
                yield _list(
                    f"{mark}{self._line(each.text)}{mark}" if each.decided else self._line(each.text)
                    for each in items
                )
            case Cautions(items):
                yield _list(f"{self._line(each.seen)} *{self._line(each.advice)}*" for each in items)
            case Listing(items):
                yield _list(map(self._line, items))
            case Numbers(title, table, titled):
                if titled:
                    yield f"#### {self._line(title)}"
                yield self._table(table)
            case Drawn():
                yield from self._drawn(block)
            case Folded(summary, blocks):
                yield f"### {self._line(summary)}"
                for each in blocks:
                    yield from self._block(each)

    def _paragraph(self, paragraph: Paragraph) -> str:
        text = self._line(paragraph.text)
        return f"> {text}" if paragraph.kind in (Kind.LABEL, Kind.WARNING) else text

    def _drawn(self, block: Drawn) -> Iterator[str]:
        figure = block.figure
        number = f"{block.number}. " if block.number else ""
        yield f"### {number}{self._line(figure.title)}"
        for drawing in figure.drawings:
            if path := self.figures.get(drawing.picture.name):
                alternative = _line(f"{self.say(figure.title)}: {self.say(drawing.heading)}")
                yield f"![{alternative}](<{path}>)"
        if block.has_own_caption:
            yield self._line(figure.caption)
        yield self._table(figure.table)

    def _table(self, table: Table) -> str:
        """Return a pipe table with figures aligned right and words aligned left."""
        sides = [":--" if place in table.words else "--:" for place in range(len(table.headings))]
        rows: list[Sequence[str]] = [
            [_cell(self.say(each)) for each in table.headings],
            sides,
            *([_cell(self.say(each)) for each in row] for row in table.rows),
        ]
        return "\n".join(f"| {' | '.join(row)} |" for row in rows)

    def _line(self, text: Text) -> str:
        return _line(self.say(text))


def _cell(text: str) -> str:
    return " ".join(_SPECIAL.sub(r"\\\1", text.replace("`", "'")).split()) or " "


def _list(items: Iterable[str]) -> str:
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
