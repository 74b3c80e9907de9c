"""Published beside measured: what a study's table and the run's own numbers in its rows are. Values only.

A row is one figure of the study, in the study's unit where people can read it so; what the study does not have, or the run
did not measure, is `None` and never 0. Nothing is compared here: the studies measured other things in other places, and
each says why (`differences`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.lab.analysis.analyse import Analysis
from app.lab.analysis.descriptive.arm_rows import FurtherRow, further
from app.lab.analysis.summary import SummaryRow
from app.lab.analysis.words import arm_title, count_of

Values = tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class BesideRow:
    """One figure."""

    figure: str
    unit: str
    published: Values
    """In the order of the table's published columns."""
    measured: Values
    derived: frozenset[int] = frozenset()
    """Places of published values that were computed from the study's text and not printed in it."""


@dataclass(frozen=True, slots=True)
class BesideTable:
    """One table of a study."""

    title: str
    published: tuple[str, ...]
    """What the study compared."""
    measured: tuple[str, ...]
    """What of the run stands beside it."""
    rows: tuple[BesideRow, ...]
    note: str = ""
    """What the rows include, where that is not plain."""


@dataclass(frozen=True, slots=True)
class StudyBeside:
    """A study with the run's numbers in its rows."""

    id: str
    title: str
    setup: str
    tables: tuple[BesideTable, ...]
    differences: tuple[str, ...]
    """Why the two columns may differ, and what to know of the published one: sentences."""


Cell = tuple[SummaryRow, FurtherRow]
"""One arm at one count of clients."""


def cells(analysis: Analysis) -> list[Cell]:
    """Every arm at every count."""
    return list(zip(analysis.summary, further(analysis), strict=True))


def ends(analysis: Analysis) -> list[Cell]:
    """Every arm at the smallest and the largest count of clients: columns that fit beside a study's own."""
    counts = analysis.client_counts
    return [cell for cell in cells(analysis) if cell[0].clients in (counts[0], counts[-1])] if counts else []


def headings(analysis: Analysis, columns: Sequence[Cell]) -> tuple[str, ...]:
    """What such columns are called."""
    return tuple(f"{arm_title(row.arm)}, {count_of(row.clients, analysis.noun)}" for row, _ in columns)
