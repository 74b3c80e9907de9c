"""Published figures next to this run's, on a terminal."""

from __future__ import annotations

from rich.console import Console

from app.i18n import LANGUAGES, speaker
from app.lab.analysis.analyse import Analysis
from app.lab.report.contents.published import beside_table
from app.lab.report.renderers.console.page import Page
from app.lab.studies.registry import all_study_tables
from app.lab.studies.tables import StudyRow, StudyTable


def print_published(analysis: Analysis, console: Console, *, language: str = LANGUAGES[0]) -> None:
    """Print each study's tables, of this run only the largest count of clients: a terminal has no room for more."""
    page = Page(console, speaker(language))
    arms = len(analysis.run.plan.arms)
    for study in all_study_tables(analysis):
        page.say("")
        page.say(study.title, style="bold")
        for table in study.tables:
            page.say("")
            page.say(table.title)
            narrow = beside_table(_largest_only(table, arms), short=True)
            page.table(narrow.headings, narrow.rows, texts=(0, 1))
        for sentence in study.differences:
            page.say(sentence)


def _largest_only(table: StudyTable, arms: int) -> StudyTable:
    """Return the table with the measured columns of the largest count: columns are sorted by count, then by arm."""
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
