"""Tables of published and measured figures: the values of a study's rows, with the run's figures in the same rows.

A row is one figure of the study, in the study's unit where that is readable. A value that the study does not have, or
the run did not measure, is `None` and never 0. No statistical test compares them, since the studies measured other
things in other places; `differences` lists the reasons.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from app.core.messages import Message, Text
from app.i18n import LANGUAGES, text
from app.lab.analysis.analyse import Analysis
from app.lab.analysis.descriptive.arm_rows import DescriptiveRow, descriptive_rows
from app.lab.analysis.summary import SummaryRow
from app.lab.analysis.words import at_clients

Values = tuple[float | None, ...]
"""Values of a row by column, in the row's unit; `None` for a missing value."""


@dataclass(frozen=True, slots=True)
class StudyRow:
    """One figure, as published and as the run measured it."""

    figure: Text
    """Name of the figure, shown as the row's heading."""
    unit: str
    """Unit of all values, such as `ms`, `%` or `share` (0 to 1)."""
    published: Values
    """Values in the order of the table's published columns."""
    measured: Values
    """Values in the order of the table's measured columns."""
    derived: frozenset[int] = frozenset()
    """Indexes of published values that were computed from the study's text and are not printed in it."""


@dataclass(frozen=True, slots=True)
class StudyTable:
    """One table of a study, with the run's figures in further columns."""

    title: Text
    published: tuple[str, ...]
    """Headings of the published columns: the alternatives that the study compared."""
    measured: tuple[Text, ...]
    """Headings of the measured columns: arms of the run."""
    rows: tuple[StudyRow, ...]
    note: Text = ""
    """A note on what the rows include, where that is not obvious."""


@dataclass(frozen=True, slots=True)
class StudyTables:
    """A published study, with the run's figures in the rows of its tables."""

    id: str
    """Id of the study in `published.json`."""
    title: str
    setup: Message
    """Sentence on devices, network and method of the study."""
    tables: tuple[StudyTable, ...]
    differences: tuple[Message, ...]
    """Sentences: reasons why published and measured figures may differ, and faults of the published ones."""


ArmFigures = tuple[SummaryRow, DescriptiveRow]
"""All figures of one arm at one count of clients: (figures of the report, descriptive figures)."""


def arm_figures(analysis: Analysis) -> list[ArmFigures]:
    """Return the figures of every arm at every count of clients, in the order of the report."""
    return list(zip(analysis.summary, descriptive_rows(analysis), strict=True))


def smallest_and_largest(analysis: Analysis) -> list[ArmFigures]:
    """Return the figures of every arm at the smallest and the largest count of clients.

    Other counts are left out, so that the table stays narrow.
    """
    counts = analysis.client_counts
    return (
        [cell for cell in arm_figures(analysis) if cell[0].clients in (counts[0], counts[-1])]
        if counts
        else []
    )


def headings(analysis: Analysis, columns: Sequence[ArmFigures]) -> tuple[Message, ...]:
    """Return a heading for each of the columns `columns`: arm and count of clients."""
    return tuple(at_clients(row.arm, row.clients, analysis.noun) for row, _ in columns)


def study_json(study: StudyTables) -> dict[str, Any]:
    """Return a study with its tables as a JSON object, all texts in English."""
    return {
        "id": study.id,
        "title": study.title,
        "setup": _english(study.setup),
        "tables": tuple(map(table_json, study.tables)),
        "differences": tuple(map(_english, study.differences)),
    }


def table_json(table: StudyTable) -> dict[str, Any]:
    """Return a table as a JSON object, all texts in English. A row's `derived` lists indexes into its `published`."""
    rows = [
        {
            "figure": _english(row.figure),
            "unit": row.unit,
            "published": row.published,
            "measured": row.measured,
            "derived": sorted(row.derived),
        }
        for row in table.rows
    ]
    return {
        "title": _english(table.title),
        "published": table.published,
        "measured": [_english(each) for each in table.measured],
        "rows": rows,
        "note": _english(table.note),
    }


def differences(study: str, count: int) -> tuple[Message, ...]:
    """Return the `count` sentences on why the figures of a study and of a run may differ.

    `study`: the study's name in the catalogue of texts.
    """
    return tuple(Message(f"study.{study}.why.{place}") for place in range(count))


def _english(value: Text) -> str:
    return text(value, LANGUAGES[0])
