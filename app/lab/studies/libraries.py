"""The WebSocket library study's best figures, the only ones known, with the run's figures in the same rows."""

from __future__ import annotations

from collections.abc import Callable

from app.lab.analysis.analyse import Analysis
from app.lab.studies.published import study_of
from app.lab.studies.tables import (
    ArmFigures,
    StudyRow,
    StudyTable,
    StudyTables,
    headings,
    smallest_and_largest,
)

STUDY = "upi-ws-uwebsockets"

TITLES = ("uWebSockets.js",)


def _counted(cell: ArmFigures, count: int) -> float | None:
    """Return the count, or `None` where nothing was expected, since 0 of 0 is no data."""
    return float(count) if cell[0].expected else None


ROWS: tuple[tuple[str | None, str, str, Callable[[ArmFigures], float | None]], ...] = (
    ("ws_connecting_ms", "connecting; set-up, median", "ms", lambda cell: cell[1].course.setup_ms_p50),
    ("ws_session_duration_ms", "session duration", "ms", lambda _: None),
    (None, "message delivery; delay, mean", "ms", lambda cell: cell[0].delay_ms_mean),
    (
        "messages",
        "messages; notifications delivered",
        "count",
        lambda cell: _counted(cell, cell[0].delivered),
    ),
    ("cpu_percent", "CPU", "%", lambda cell: cell[1].course.cpu_process_percent.mean),
    (None, "lost", "deliveries", lambda cell: _counted(cell, cell[0].lost)),
)
"""Name in the data (`None` where the study measured it but its result is not known), title, unit, and the run's figure."""

NOTE = (
    "Its levels are 50, 500, 1,000, 2,000 and 3,000 virtual users; at which one the best figures were found is not known. "
    "Message delivery is what ws, the other library, was ahead in at every level."
)

DIFFERENCES = (
    "Only the study's front matter is available to us: the best figures and the findings, no table.",
    "A session of 0.00126 ms is no duration: a session that sends anything takes longer by far. It is a unit or another "
    "metric; and a longer session is neither better nor worse.",
    "Its load is closed-loop (k6): a user sends when the last answer has come, so a slow server is asked less. "
    "14,950 messages are about five for each of 3,000 users. Here one source sends to all by a fixed schedule.",
    "Its winner has more metrics on its side, and lost the one that users see, message delivery time.",
    "It compares two libraries of Node.js; here transports are compared over one implementation.",
    "Its normality test decides which test is used, and its samples are pooled: both change how often nothing is taken for "
    "something. The same tests on this run are among the other methods.",
)


def library_tables(analysis: Analysis) -> StudyTables:
    """Return its one table, with the run's figures at the smallest and the largest count of clients."""
    study, columns = study_of(STUDY), smallest_and_largest(analysis)
    best = study["best_of_uwebsockets"]
    rows = tuple(
        StudyRow(
            title,
            unit,
            (None if name is None else best[name],),
            tuple(figure(cell) for cell in columns),
        )
        for name, title, unit, figure in ROWS
    )
    return StudyTables(
        id=STUDY,
        title=study["title"],
        setup=study["setup"]["tools"],
        tables=(StudyTable("Best figures", TITLES, headings(analysis, columns), rows, NOTE),),
        differences=DIFFERENCES,
    )
