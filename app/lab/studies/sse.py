"""Tables of the published SSE study, mean delay and CPU, with the run's figures in the same rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from app.core.messages import Message
from app.core.wire import TRANSPORTS
from app.lab.analysis.analyse import Analysis
from app.lab.analysis.statistics.quantile import mean
from app.lab.analysis.summary import SummaryRow
from app.lab.analysis.words import TRANSPORT_TITLES, arm_title, clients
from app.lab.studies.published import FAULTS, REPEATED_STUDY, repeated_study, study_of, value_of
from app.lab.studies.tables import StudyRow, StudyTable, StudyTables

MS_PER_S = 1000.0
"""Factor from the study's seconds to the table's milliseconds."""


def sse_tables(analysis: Analysis) -> StudyTables:
    """Return the two tables of the SSE study, with the run's figures for every arm at every count of clients."""
    study, figures = repeated_study(), study_of(REPEATED_STUDY)
    return StudyTables(
        id=REPEATED_STUDY,
        title=study.title,
        setup=study.setup,
        tables=(
            _table(
                analysis,
                Message("study.table.mean_delay_by_number_of_clients"),
                "ms",
                _scaled(figures["delay_s_mean"], MS_PER_S),
                lambda row: row.delay_ms_mean,
            ),
            _table(
                analysis,
                Message("study.table.cpu_over_idle_by_number_of_clients"),
                "points",
                _scaled(figures["cpu_percent_points_mean"], 1.0),
                lambda row: row.delta_points,
            ),
        ),
        differences=FAULTS,
    )


Published = dict[tuple[str, str], tuple[float, bool]]
"""(transport, number of clients or "overall") -> (value, True if it was derived from the study's text)."""


def _scaled(figures: dict[str, dict[str, float | dict[str, float]]], factor: float) -> Published:
    found: Published = {}
    for transport, own in figures.items():
        for count, figure in own.items():
            value, derived = value_of(figure)
            found[transport, count] = (value * factor, derived)
    return found


def _table(
    analysis: Analysis,
    title: Message,
    unit: str,
    published: Published,
    figure: Callable[[SummaryRow], float | None],
) -> StudyTable:
    arms = analysis.run.plan.arms
    own = {(row.arm.name, row.clients): figure(row) for row in analysis.summary}
    study_counts = sorted({int(count) for _, count in published if count.isdigit()})
    rows = [
        _row(
            clients(count),
            unit,
            published,
            str(count),
            [own.get((arm.name, count)) for arm in arms],
        )
        for count in sorted({*study_counts, *analysis.client_counts})
    ]
    overall = [_mean_of_all([own.get((arm.name, count)) for count in study_counts]) for arm in arms]
    return StudyTable(
        title=title,
        published=tuple(TRANSPORT_TITLES[each] for each in TRANSPORTS),
        measured=tuple(arm_title(arm) for arm in arms),
        rows=(*rows, _row(Message("study.row.all_counts"), unit, published, "overall", overall)),
        note=Message("study.note.overall"),
    )


def _row(
    name: Message, unit: str, published: Published, count: str, measured: Sequence[float | None]
) -> StudyRow:
    found = [published.get((transport, count)) for transport in TRANSPORTS]
    return StudyRow(
        name,
        unit,
        tuple(each[0] if each else None for each in found),
        tuple(measured),
        frozenset(place for place, each in enumerate(found) if each and each[1]),
    )


def _mean_of_all(values: Sequence[float | None]) -> float | None:
    """Return the mean of the values; `None` if one is missing.

    A mean over fewer counts of clients would be another figure.
    """
    known = [value for value in values if value is not None]
    return mean(known) if len(known) == len(values) else None
