"""Tables of published and measured figures: the values of a study's rows, with the run's figures in the same rows.

A row is one figure of the study, in the study's unit where that is readable. A value that the study does not have, or the
run did not measure, is `None` and never 0. Nothing is compared by a test, since the studies measured other things in
other places; `differences` lists the reasons.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.lab.analysis.analyse import Analysis
from app.lab.analysis.descriptive.arm_rows import DescriptiveRow, descriptive_rows
from app.lab.analysis.summary import SummaryRow
from app.lab.analysis.words import arm_title, count_of

Values = tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class StudyRow:
    """One figure, published and measured."""

    figure: str
    unit: str
    published: Values
    """Values in the order of the table's published columns."""
    measured: Values
    """Values in the order of the table's measured columns."""
    derived: frozenset[int] = frozenset()
    """Indexes of published values that were computed from the study's text and are not printed in it."""


@dataclass(frozen=True, slots=True)
class StudyTable:
    """One table of a study with the run's figures."""

    title: str
    published: tuple[str, ...]
    """Headings of the published columns: what the study compared."""
    measured: tuple[str, ...]
    """Headings of the measured columns: arms of the run."""
    rows: tuple[StudyRow, ...]
    note: str = ""
    """A note on what the rows include, where that is not obvious."""


@dataclass(frozen=True, slots=True)
class StudyTables:
    """A study with the run's figures in the rows of its tables."""

    id: str
    title: str
    setup: str
    tables: tuple[StudyTable, ...]
    differences: tuple[str, ...]
    """Sentences: reasons why published and measured figures may differ, and faults of the published ones."""


ArmFigures = tuple[SummaryRow, DescriptiveRow]
"""All figures of one arm at one count of clients."""


def arm_figures(analysis: Analysis) -> list[ArmFigures]:
    """Return every arm at every count of clients."""
    return list(zip(analysis.summary, descriptive_rows(analysis), strict=True))


def smallest_and_largest(analysis: Analysis) -> list[ArmFigures]:
    """Return every arm at the smallest and the largest count of clients, to fit in a table next to the study's columns."""
    counts = analysis.client_counts
    return (
        [cell for cell in arm_figures(analysis) if cell[0].clients in (counts[0], counts[-1])]
        if counts
        else []
    )


def headings(analysis: Analysis, columns: Sequence[ArmFigures]) -> tuple[str, ...]:
    """Return the headings of measured columns: arm and count of clients."""
    return tuple(f"{arm_title(row.arm)}, {count_of(row.clients, analysis.noun)}" for row, _ in columns)
