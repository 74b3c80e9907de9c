"""Published beside measured, as blocks of the report, as plain JSON values, and for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from rich.console import Console

from app.i18n import LANGUAGES
from app.lab.analysis.analyse import Analysis
from app.lab.analysis.words import number
from app.lab.report.document import Block, Folded, Heading, Kind, Listing, Numbers, Paragraph
from app.lab.report.tables import Table
from app.lab.report.terminal import Page
from app.lab.report.translation import translator
from app.lab.studies.registry import all_study_tables
from app.lab.studies.tables import StudyRow, StudyTable, StudyTables

INTRODUCTION = (
    "Each study's figures as they were published, and this run's own in the same rows where it measured them. They were found "
    "in other places, with other clients and other instruments: no row is a comparison, and below each study stands why. "
    "A star marks a value that was derived from the study's text."
)

COUNTED = ("count", "deliveries", "clients", "probes")
"""Units of what is counted one by one."""

WHY = "Why the two may differ"


def published_blocks(analysis: Analysis) -> Iterator[Block]:
    """The section's blocks, study by study."""
    yield Paragraph(INTRODUCTION)
    for study in all_study_tables(analysis):
        yield Heading(study.title)
        yield Paragraph(study.setup, Kind.CAPTION)
        for table in study.tables:
            yield Numbers(table.title, beside_table(table), titled=True)
            if table.note:
                yield Paragraph(table.note, Kind.CAPTION)
        yield Folded(WHY, (Listing(study.differences),))


def beside_table(table: StudyTable) -> Table:
    """A table of words."""
    headings = ("figure", "unit", *(f"published, {name}" for name in table.published), *table.measured)
    return Table(headings, [_cells(row) for row in table.rows], frozenset({0, 1}))


def published_json(analysis: Analysis) -> list[dict[str, Any]]:
    """Every study; `derived` are places in `published`."""
    return [_study_json(study) for study in all_study_tables(analysis)]


def print_published(analysis: Analysis, console: Console, *, language: str = LANGUAGES[0]) -> None:
    """The tables with the run's largest count of clients, for which a terminal has room."""
    page = Page(console, translator(language))
    arms = len(analysis.run.plan.arms)
    for study in all_study_tables(analysis):
        page.say("")
        page.say(study.title, style="bold")
        for table in study.tables:
            page.say("")
            page.say(table.title)
            narrow = beside_table(_largest_only(table, arms))
            short = [each.replace("published, ", "publ. ") for each in narrow.headings]
            page.table(short, narrow.rows, texts=(0, 1))
        for sentence in study.differences:
            page.say(sentence)


def _largest_only(table: StudyTable, arms: int) -> StudyTable:
    """Columns go by count of clients, then by arm: the last of them are of the largest count."""
    return StudyTable(
        table.title,
        table.published,
        table.measured[-arms:],
        tuple(
            StudyRow(row.figure, row.unit, row.published, row.measured[-arms:], row.derived)
            for row in table.rows
        ),
        table.note,
    )


def _cells(row: StudyRow) -> tuple[str, ...]:
    published = [
        _printed(value) + (" *" if place in row.derived else "") for place, value in enumerate(row.published)
    ]
    return (row.figure, row.unit, *published, *map(_count if row.unit in COUNTED else number, row.measured))


def _printed(value: float | None) -> str:
    """A published value with the digits that it was printed with."""
    return number(value) if value is None else f"{value:.10g}"


def _count(value: float | None) -> str:
    return number(value) if value is None else str(round(value))


def _study_json(study: StudyTables) -> dict[str, Any]:
    values = asdict(study)
    for table in values["tables"]:
        for row in table["rows"]:
            row["derived"] = sorted(row["derived"])
    return values
