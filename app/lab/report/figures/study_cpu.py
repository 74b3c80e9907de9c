"""The SSE study's last four figures, with the run's values: CPU at each count of clients, and against the counts.

The study read a system-wide percentage before and after. These drawings show the server's own CPU time over its idle
rate, in the same unit (points of the whole machine). The tables also have values by the study's method.
"""

from __future__ import annotations

from app.core.messages import Message, Text, clauses
from app.lab.analysis.analyse import Analysis
from app.lab.analysis.words import TRANSPORT_TITLES, arm_title, clients
from app.lab.report.document import Drawing, Figure, Table, headings_of
from app.lab.report.figures.series import (
    against_clients,
    measured_lines,
    published_cell,
    published_legend,
    published_lines,
    rows_at,
    series_of_arms,
    series_of_transports,
)
from app.lab.report.panel import Axis, Panel, Picture
from app.lab.studies.published import repeated_study

POINTS = Message("drawing.of_machine")


def cpu_figures(analysis: Analysis) -> list[Figure]:
    """Return one figure of CPU use per count of clients, then one of CPU use against the counts."""
    counts = analysis.client_counts
    return [*(_cpu_at(analysis, count) for count in counts), _cpu_against_clients(analysis)]


def _cpu_at(analysis: Analysis, count: int) -> Figure:
    title = Message("figure.cpu_at", {"clients": clients(count)})
    published = _published_at(analysis, count)
    return Figure(
        title,
        Message("caption.cpu_at", {"cpu": Message("caption.cpu")}),
        (Drawing(Message("drawing.this_run_points"), _measured_at(analysis, count, title)), *published),
        _table(analysis, count),
    )


def _measured_at(analysis: Analysis, count: int, title: Text) -> Picture:
    rows = rows_at(analysis, count)
    names = [arm_title(row.arm) for _, row in rows]
    values = [value for _, row in rows for value in row.delta_points_by_trial]
    panel = Panel(Axis.categories("", names), Axis.from_zero(POINTS, values))
    if not values:
        panel.note(Message("figure.empty_idle"))
    for series, row in rows:
        for place, value in enumerate(row.delta_points_by_trial):
            spread = 0.3 * (place / max(len(row.delta_points_by_trial) - 1, 1) - 0.5)
            panel.marker(series + 0.12 + spread / 2, value, series, small=True)
        if row.delta_points is not None:
            panel.marker(series - 0.15, row.delta_points, series)
    described = clauses(_described(arm_title(row.arm), row.delta_points) for _, row in rows)
    return Picture(panel, f"cpu{count}", title=title, description=described)


def _published_at(analysis: Analysis, count: int) -> list[Drawing]:
    study, series_of = repeated_study(), series_of_transports(analysis)
    found = [(series, mean) for name, series in series_of.items() if (mean := study.cpu_at(name, count))]
    if not found:
        return []
    names = [TRANSPORT_TITLES[mean.transport] for _, mean in found]
    panel = Panel(
        Axis.categories("", names),
        Axis.from_zero(POINTS, [mean.value for _, mean in found]),
    )
    for place, (series, mean) in enumerate(found):
        panel.marker(place, mean.value, series)
    described = clauses(
        _described(TRANSPORT_TITLES[mean.transport], Message("cell.as_written", {"n": mean.value}))
        for _, mean in found
    )
    picture = Picture(
        panel,
        f"cpu{count}p",
        title=Message("figure.cpu_published", {"clients": clients(count)}),
        description=described,
    )
    return [Drawing(Message("drawing.published_points_mean"), picture)]


def _cpu_against_clients(analysis: Analysis) -> Figure:
    series_of = series_of_transports(analysis)
    title = Message("figure.cpu_against")
    lines = measured_lines(analysis, lambda row: row.delta_points)
    published = published_lines(repeated_study().cpu_points, series_of)
    return Figure(
        title,
        Message("caption.cpu"),
        (
            Drawing(
                Message("drawing.this_run_points"),
                against_clients(
                    "cpun",
                    title,
                    POINTS,
                    lines,
                    series_of_arms(analysis),
                    planned=analysis.client_counts,
                ),
            ),
            Drawing(
                Message("drawing.published_points"),
                against_clients(
                    "cpunp",
                    Message("figure.published", {"title": title}),
                    POINTS,
                    published,
                    published_legend(series_of),
                    planned=analysis.client_counts,
                ),
            ),
        ),
        _table(analysis, None),
    )


def _described(arm: str, value: Text) -> Message:
    return Message("drawing.arm_points", {"arm": arm, "n": value})


def _table(analysis: Analysis, count: int | None) -> Table:
    """Return the table of CPU use per arm at one count of clients, or at all if `count` is `None`."""
    study = repeated_study()
    return Table(
        headings_of(
            *("arm", "clients", "cpu_points", "us_per_notification", "cpu_percent_points", "published_points")
        ),
        [
            (
                *(arm_title(row.arm), row.clients, row.delta_points),
                *(row.cpu_per_delivery_us, row.cpu_percent_points),
                published_cell(study.cpu_at(row.arm.transport, row.clients)),
            )
            for row in analysis.summary
            if count in (None, row.clients)
        ],
    )
