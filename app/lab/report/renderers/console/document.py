"""A document on a console: the same blocks as in the other forms, one below the other."""

from __future__ import annotations

from collections.abc import Iterable

from app.lab.report.document import (
    Block,
    Caution,
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
)
from app.lab.report.renderers.console.page import Page

STYLES = {Kind.ANSWER: "bold", Kind.CAPTION: "dim", Kind.WARNING: "yellow"}
"""Styles of paragraphs by their purpose. In a log such a paragraph is one line, so that it can be searched."""


def print_document(document: Document, page: Page) -> None:
    """Print a document: title and opening, then its sections."""
    page.say(document.title, style="bold", one_line=True)
    print_blocks(() if isinstance(document.opening, Opening) else document.opening, page)
    for section in document.sections:
        print_blocks((Heading(section.title), *section.blocks), page)
    page.say("")
    page.say(document.closing)


def print_blocks(blocks: Iterable[Block], page: Page) -> None:
    """Print blocks in order; of a figure the numbers that it shows."""
    for block in blocks:
        _print(block, page)


def _print(block: Block, page: Page) -> None:
    match block:
        case Heading(text):
            page.say("")
            page.say(text, style="bold")
        case Paragraph(text, Kind.COMMAND):
            page.say_command(text)
        case Paragraph(text, kind):
            page.say(text, style=STYLES.get(kind, ""), one_line=kind in STYLES)
        case Findings(items):
            page.say("")
            page.say_each((each.text for each in items), style="bold", one_line=True)
        case Cautions(items):
            page.say("")
            _print_cautions(items, page)
        case Listing(items):
            page.say_each(items)
        case Numbers(title, table, titled):
            if titled:
                page.say(title)
            page.table(table.headings, table.rows, texts=sorted(table.words), muted=table.muted)
        case Drawn(figure):
            _print(Numbers(figure.title, figure.table, titled=True), page)
        case Folded(summary, blocks):
            print_blocks((Heading(summary), *blocks), page)


def _print_cautions(items: Iterable[Caution], page: Page) -> None:
    for each in items:
        page.say(each.seen, style="yellow" if each.void else "")
        page.say(f"     {page.translate(each.advice)}")
