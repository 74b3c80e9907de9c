"""What a report says, in order, and nothing of how it looks: HTML, Markdown and PDF walk these blocks.

    Document -- Section -- Block: Heading, Paragraph, Findings, Cautions, Listing, Numbers, Drawn, Folded

Words are English here, as in `result.json`; `translation.py` gives the same document in another language. Between
backticks stands what is typed or looked up: renderers set it in a fixed-width face.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

_NAME = re.compile(r'aria-labelledby="([a-z0-9-]+)-t ')


@dataclass(frozen=True, slots=True)
class Table:
    """Headings and rows of the same length."""

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: frozenset[int] = frozenset({0})
    """Columns that hold words and not figures."""
    verbatim: bool = False
    """Whether cells are as they were recorded, and so the same in every language."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """One panel of a figure."""

    heading: str
    svg: str


@dataclass(frozen=True, slots=True)
class Figure:
    """Drawings, what the numbers include, and the numbers."""

    title: str
    caption: str
    drawings: tuple[Drawing, ...]
    table: Table


class Kind(StrEnum):
    """What a paragraph is for."""

    PLAIN = "plain"
    CAPTION = "caption"
    """Small, below what it explains."""
    LABEL = "label"
    """To be seen: what this run is."""
    WARNING = "warning"
    """To be seen: what it is not."""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Sentences that belong together."""

    text: str
    kind: Kind = Kind.PLAIN


@dataclass(frozen=True, slots=True)
class Heading:
    """Of what follows within a section."""

    text: str


@dataclass(frozen=True, slots=True)
class Finding:
    """A verdict in words."""

    text: str
    decided: bool
    """Whether a difference or an equivalence was found."""


@dataclass(frozen=True, slots=True)
class Findings:
    """Verdicts that belong together."""

    items: tuple[Finding, ...]
    main: bool = False
    """Whether these are the run's answer."""


@dataclass(frozen=True, slots=True)
class Caution:
    """A warning: what was seen and where, and what to do."""

    seen: str
    advice: str
    void: bool


@dataclass(frozen=True, slots=True)
class Cautions:
    """All warnings, voiding ones first."""

    items: tuple[Caution, ...]


@dataclass(frozen=True, slots=True)
class Listing:
    """Sentences one below the other."""

    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Numbers:
    """A table; `title` is for who cannot see it."""

    title: str
    table: Table
    titled: bool = False
    """Whether its title is to be seen: where several tables stand below one heading."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A figure with its numbers."""

    figure: Figure
    number: int | None = None
    """Place in a counted series, from 1."""
    settings: str = ""
    """What the run was, in a line, so that the figure can be read alone."""


@dataclass(frozen=True, slots=True)
class Folded:
    """What only some readers want: a page hides it behind its summary, paper shows it."""

    summary: str
    blocks: tuple[Block, ...]


Block = Paragraph | Heading | Findings | Cautions | Listing | Numbers | Drawn | Folded


@dataclass(frozen=True, slots=True)
class Section:
    """One of the report's parts."""

    name: str
    """In links, never translated."""
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """A whole report."""

    title: str
    opening: tuple[Paragraph, ...]
    """The headline, and what kind of run this is."""
    sections: tuple[Section, ...]
    closing: str
    language: str = "en"


def drawn_in(blocks: Sequence[Block]) -> Iterator[Drawn]:
    """The figures among the blocks, folded ones too, in order."""
    for each in blocks:
        if isinstance(each, Drawn):
            yield each
        elif isinstance(each, Folded):
            yield from drawn_in(each.blocks)


def figures_of(document: Document) -> list[Drawn]:
    """Every figure of a document, in order."""
    return [each for section in document.sections for each in drawn_in(section.blocks)]


def drawing_name(drawing: Drawing) -> str:
    """The name that its panel was drawn under: unique in a report, and good for a file."""
    found = _NAME.search(drawing.svg)
    if found is None:
        raise ValueError("a drawing without a name was not drawn by a panel")
    return found[1]
