"""Published figures of studies next to the run's, as parts of its report."""

from __future__ import annotations

from collections.abc import Iterator

from app.core.messages import Message, Text
from app.lab.analysis.analyse import Analysis
from app.lab.analysis.words import unit_text
from app.lab.report.document import (
    Block,
    Folded,
    Kind,
    Listing,
    Numbers,
    Paragraph,
    Table,
    headings_of,
)
from app.lab.studies.registry import all_study_tables
from app.lab.studies.tables import StudyRow, StudyTable, StudyTables

INTRODUCTION = Message("study.intro")

COUNTED = ("count", "deliveries", "clients", "probes")
"""Units of counts, which are shown as whole numbers."""

WHY = Message("study.why")


def published_blocks(analysis: Analysis) -> Iterator[Block]:
    """Yield the section's blocks, study by study."""
    yield Paragraph(INTRODUCTION)
    for study in all_study_tables(analysis):
        yield Folded(study.title, tuple(_study_blocks(study)))


def _study_blocks(study: StudyTables) -> Iterator[Block]:
    yield Paragraph(study.setup, Kind.CAPTION)
    for table in study.tables:
        yield Numbers(table.title, beside_table(table), titled=True)
        if table.note:
            yield Paragraph(table.note, Kind.CAPTION)
    yield Folded(WHY, (Listing(study.differences),))


def beside_table(table: StudyTable, *, short: bool = False) -> Table:
    """Return a study's figures next to the run's as a table of a report; `short`: with headings for a narrow page."""
    key = "study.published.short" if short else "study.published"
    published = (Message(key, {"name": name}) for name in table.published)
    headings = (*headings_of("figure", "unit"), *published, *table.measured)
    return Table(headings, [_cells(row) for row in table.rows], frozenset({0, 1}))


def _cells(row: StudyRow) -> tuple[Text, ...]:
    published = [_printed(value, derived=place in row.derived) for place, value in enumerate(row.published)]
    measured = map(_count, row.measured) if row.unit in COUNTED else row.measured
    return (row.figure, unit_text(row.unit), *published, *measured)


def _printed(value: float | None, *, derived: bool) -> Text:
    """Return a published value with the digits that it was printed with; a star marks a derived one."""
    return None if value is None else Message("cell.derived" if derived else "cell.as_written", {"n": value})


def _count(value: float | None) -> int | None:
    return None if value is None else round(value)
