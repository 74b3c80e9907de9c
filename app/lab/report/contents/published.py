"""Published figures next to this run's, as blocks of the report."""

from __future__ import annotations

from collections.abc import Iterator

from app.core.messages import Message
from app.lab.analysis.analyse import Analysis
from app.lab.analysis.words import number
from app.lab.report.document import Block, Folded, Heading, Kind, Listing, Numbers, Paragraph, Table
from app.lab.studies.registry import all_study_tables
from app.lab.studies.tables import StudyRow, StudyTable

INTRODUCTION = Message("figure.published.intro.each_study_s_figures_as_they_were_published__and")

COUNTED = ("count", "deliveries", "clients", "probes")
"""Units of counts, which are shown as whole numbers."""

WHY = Message("figure.published.why.why_the_two_may_differ")


def published_blocks(analysis: Analysis) -> Iterator[Block]:
    """Yield the section's blocks, study by study."""
    yield Paragraph(INTRODUCTION)
    for study in all_study_tables(analysis):
        yield Heading(study.title)
        yield Paragraph(study.setup, Kind.CAPTION)
        for table in study.tables:
            yield Numbers(table.title, beside_table(table), titled=True)
            if table.note:
                yield Paragraph(table.note, Kind.CAPTION)
        yield Folded(WHY, (Listing(study.differences),))


def beside_table(table: StudyTable, *, prefix: str = "published,") -> Table:
    """Return a study's table as texts. `prefix` is before the name of a published column."""
    headings = ("figure", "unit", *(f"{prefix} {name}" for name in table.published), *table.measured)
    return Table(headings, [_cells(row) for row in table.rows], frozenset({0, 1}))


def _cells(row: StudyRow) -> tuple[str, ...]:
    published = [
        _printed(value) + (" *" if place in row.derived else "") for place, value in enumerate(row.published)
    ]
    return (row.figure, row.unit, *published, *map(_count if row.unit in COUNTED else number, row.measured))


def _printed(value: float | None) -> str:
    """Return a published value with the digits that it was printed with."""
    return number(value) if value is None else f"{value:.10g}"


def _count(value: float | None) -> str:
    return number(value) if value is None else str(round(value))
