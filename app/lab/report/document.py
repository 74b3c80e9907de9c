"""The document model of a report: blocks in order, without layout; HTML, Markdown and PDF renderers walk them.

    Document -- Opening -- Card, Delays, Strip
             -- Section -- Block: Heading, Paragraph, Findings, Cautions, Listing, Numbers, Drawn, Folded

A text is a value (`app.core.messages.Text`): a renderer makes text from it in its language. Backticks enclose what a reader
types or looks up: renderers set it in a fixed-width face.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from app.core.messages import Message, Text
from app.lab.report.panel import Picture


@dataclass(frozen=True, slots=True)
class Table:
    """A table of values: headings, and rows of the same length."""

    headings: Sequence[Text]
    rows: Sequence[Sequence[Text]]
    words: frozenset[int] = frozenset({0})
    """Indices of columns that hold words instead of figures."""
    muted: frozenset[int] = frozenset()
    """Indices of rows that do not count, which a terminal shows in grey."""


def headings_of(*names: str) -> tuple[Message, ...]:
    """Return headings of a table by their names in the catalogue."""
    return tuple(Message(f"heading.{name}") for name in names)


@dataclass(frozen=True, slots=True)
class Drawing:
    """One panel of a figure, with its heading."""

    heading: Text
    picture: Picture


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure: drawings, a caption that says what the numbers include, and a table of the numbers."""

    title: Text
    caption: Text
    drawings: tuple[Drawing, ...]
    table: Table


class Kind(StrEnum):
    """The purpose of a paragraph."""

    PLAIN = "plain"
    CAPTION = "caption"
    """Small text below the block that it explains."""
    LABEL = "label"
    """Highlighted: what kind of run this is."""
    WARNING = "warning"
    """Highlighted: a limit of this run."""
    ANSWER = "answer"
    """The result in a sentence, on a terminal."""
    COMMAND = "command"
    """A command to copy, on a terminal: on one line, whatever its length."""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Sentences that belong together."""

    text: Text
    kind: Kind = Kind.PLAIN


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading within a section."""

    text: Text


@dataclass(frozen=True, slots=True)
class Finding:
    """A verdict in words."""

    text: Text
    decided: bool
    """True when a difference or an equivalence was found."""


@dataclass(frozen=True, slots=True)
class Findings:
    """Verdicts that belong together."""

    items: tuple[Finding, ...]
    main: bool = False
    """True when these are the run's main result."""


@dataclass(frozen=True, slots=True)
class Caution:
    """A warning: what was seen and where, and what to do."""

    seen: Text
    advice: Text
    void: bool
    """True when the warning makes trials invalid."""


@dataclass(frozen=True, slots=True)
class Cautions:
    """All warnings, those that invalidate trials first."""

    items: tuple[Caution, ...]


@dataclass(frozen=True, slots=True)
class Listing:
    """Sentences one below the other."""

    items: tuple[Text, ...]


@dataclass(frozen=True, slots=True)
class Numbers:
    """A table with its title, which is for screen readers unless `titled` is set."""

    title: Text
    table: Table
    titled: bool = False
    """True when the title is shown, because several tables follow one heading."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A figure in a document."""

    figure: Figure
    number: int | None = None
    """Number within a counted series, from 1."""
    settings: Text = ""
    """One line on the run's settings, so that the figure's file can be read alone; a report has it at its top."""
    has_own_caption: bool = True
    """False where a figure above it in the section has the same caption."""


@dataclass(frozen=True, slots=True)
class Folded:
    """Blocks for some readers only: a page folds them under their summary, paper shows them."""

    summary: Text
    blocks: tuple[Block, ...]


Block = Paragraph | Heading | Findings | Cautions | Listing | Numbers | Drawn | Folded


@dataclass(frozen=True, slots=True)
class Section:
    """One of the report's parts."""

    name: str
    """Identifier in links, never translated."""
    title: Text
    blocks: tuple[Block, ...]
    is_closed: bool = False
    """True for a section that a page shows closed until a reader opens it, or follows a link to it."""


@dataclass(frozen=True, slots=True)
class CardFigure:
    """One arm's figure on a card, with its unit. `series`: the arm's index in the plan."""

    name: Text
    value: Text
    series: int


@dataclass(frozen=True, slots=True)
class Card:
    """One quantity of all arms at one count of clients, with its verdicts."""

    title: Text
    figures: tuple[CardFigure, ...]
    verdicts: tuple[Text, ...]
    counts: bool
    """False where the figures are no result: no round counts, or the run was stopped before it had one."""


@dataclass(frozen=True, slots=True)
class Bar:
    """Delays of one arm at one count of clients, in ms; `None` for a quantile that too few notifications support."""

    name: Text
    series: int
    p25_ms: float | None
    p50_ms: float | None
    p75_ms: float | None
    p95_ms: float | None
    counts: bool
    """False where no round counts: then the quantiles are of what was seen."""


@dataclass(frozen=True, slots=True)
class DelayRow:
    """One row of `Delays`: bars one below the other, with the verdict on them."""

    label: Text
    bars: tuple[Bar, ...]
    verdict: Text
    decided: bool
    """True when a difference or an equivalence was found."""


@dataclass(frozen=True, slots=True)
class Delays:
    """Delays of each arm at each count of clients: a drawing for screens, and a table for other forms."""

    title: Text
    """Title of the drawing, with the meaning of its marks."""
    rows: tuple[DelayRow, ...]
    table: Table


@dataclass(frozen=True, slots=True)
class Strip:
    """What did not count, and the next step; at least one of the texts is there."""

    seen: Text
    """Why rounds did not count; `None` if all count."""
    advice: Text
    """What to do against that; `None` if there is nothing to advise, or all is decided."""
    step: Text
    """What may decide the open counts of clients; `None` if none is open."""
    command: str | None
    """The command for it; `None` if there is none."""


@dataclass(frozen=True, slots=True)
class Opening:
    """The first screen of a run's report: the answer, and what a reader must know to believe it."""

    setting: Text
    """One line on what was measured, when and where."""
    answer: Text
    """The run's question with its headline."""
    medians: Text
    """A clause that introduces the figures of the first card; `None` if nothing was measured."""
    deliveries: Text
    """A sentence on deliveries: how many count, and what was lost."""
    cards: tuple[Card, ...]
    delays: Delays | None
    """`None` if nothing was measured."""
    strip: Strip | None
    notes: tuple[Paragraph, ...]
    """Notes on the kind of run, where that limits the result."""


@dataclass(frozen=True, slots=True)
class Document:
    """A whole report."""

    title: Text
    """The headline, which a page has as its title too."""
    opening: tuple[Paragraph, ...] | Opening
    """The first screen of a run's report; of other documents, what was counted, and what kind of run it is of."""
    sections: tuple[Section, ...]
    closing: Text


def explained_once(blocks: Iterable[Block]) -> tuple[Block, ...]:
    """Return the blocks of a section so that a caption is shown once, at the first figure that has it."""
    shown: list[Text] = []

    def explained(block: Block) -> Block:
        if not isinstance(block, Drawn):
            return block
        is_new = block.figure.caption not in shown
        shown.append(block.figure.caption)
        return replace(block, has_own_caption=is_new)

    return tuple(map(explained, blocks))


def drawn_in(blocks: Sequence[Block]) -> Iterator[Drawn]:
    """Yield the figures among the blocks in order, those in folded blocks included."""
    for each in blocks:
        if isinstance(each, Drawn):
            yield each
        elif isinstance(each, Folded):
            yield from drawn_in(each.blocks)


def figures_of(document: Document) -> list[Drawn]:
    """Return every figure of a document, in order."""
    return [each for section in document.sections for each in drawn_in(section.blocks)]
