"""Table of the published study of WebSocket libraries, with the run's figures in the same rows.

Of the study only the best library's figures are known.
"""

from __future__ import annotations

from collections.abc import Callable

from app.core.messages import Message
from app.lab.analysis.analyse import Analysis
from app.lab.studies.published import study_of
from app.lab.studies.tables import (
    ArmFigures,
    StudyRow,
    StudyTable,
    StudyTables,
    differences,
    headings,
    smallest_and_largest,
)

STUDY = "upi-ws-uwebsockets"
"""Id of the study in `published.json`."""

TITLES = ("uWebSockets.js",)
"""Heading of the study's only column."""


def _counted(cell: ArmFigures, count: int) -> float | None:
    """Return the count, or `None` where the arm expected no delivery, since 0 of 0 is no data."""
    return float(count) if cell[0].expected else None


ROWS: tuple[tuple[str | None, str, str, Callable[[ArmFigures], float | None]], ...] = (
    (
        "ws_connecting_ms",
        "study.row.connecting_set_up_median",
        "ms",
        lambda cell: cell[1].course.setup_ms_p50,
    ),
    ("ws_session_duration_ms", "study.row.session_duration", "ms", lambda _: None),
    (None, "study.row.message_delivery_delay_mean", "ms", lambda cell: cell[0].delay_ms_mean),
    (
        "messages",
        "study.row.messages_notifications_delivered",
        "count",
        lambda cell: _counted(cell, cell[0].delivered),
    ),
    ("cpu_percent", "study.row.cpu", "%", lambda cell: cell[1].course.cpu_process_percent.mean),
    (None, "title.lost", "deliveries", lambda cell: _counted(cell, cell[0].lost)),
)
"""Rows: (name in `published.json`, name in the catalogue of texts, unit, function that returns the run's figure).

The first name is `None` where the study measured the figure but its result is not known.
"""


def library_tables(analysis: Analysis) -> StudyTables:
    """Return the study's one table, with the run's figures at the smallest and the largest count of clients."""
    study, columns = study_of(STUDY), smallest_and_largest(analysis)
    best = study["best_of_uwebsockets"]
    rows = tuple(
        StudyRow(
            Message(title),
            unit,
            (None if name is None else best[name],),
            tuple(figure(cell) for cell in columns),
        )
        for name, title, unit, figure in ROWS
    )
    return StudyTables(
        id=STUDY,
        title=study["title"],
        setup=Message("study.library.setup"),
        tables=(
            StudyTable(
                Message("study.table.best_figures"),
                TITLES,
                headings(analysis, columns),
                rows,
                Message("study.note.library"),
            ),
        ),
        differences=differences("library", 6),
    )
