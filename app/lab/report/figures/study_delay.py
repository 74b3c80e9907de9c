"""The SSE study's first four figures, with the run's values: mean delay per client, and against their counts.

Measured and published delays never share a linear axis: milliseconds on one machine and seconds on a WLAN with
unsynchronised clocks differ a thousandfold. They are drawn side by side, each on a scale from 0, and once together on a
logarithmic scale.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.core.messages import Message, Text, clauses
from app.lab.analysis.analyse import Analysis
from app.lab.analysis.summary import SummaryRow
from app.lab.analysis.words import TRANSPORT_TITLES, arm_title, clients
from app.lab.report.document import Drawing, Figure, Table, headings_of
from app.lab.report.figures.series import (
    Lines,
    against_clients,
    category_shift,
    count_axis,
    measured_lines,
    published_cell,
    published_legend,
    published_lines,
    rows_at,
    rows_legend,
    series_of_arms,
    series_of_transports,
)
from app.lab.report.panel import Axis, Panel, Picture
from app.lab.studies.published import repeated_study

CLIENT = Message("heading.client")

MARKERS_LARGE_MAX = 40
"""Markers per drawing above which small ones are used, because large ones would hide each other."""

CLIENTS_DRAWN_MAX = 50
"""Clients per arm that a drawing and its table show at most."""


def delay_figures(analysis: Analysis) -> list[Figure]:
    """Return one figure of delay per client for each count of clients, then one of delay against the counts."""
    counts = analysis.client_counts
    return [*(_delay_per_client(analysis, count) for count in counts), _delay_against_clients(analysis)]


def _delay_per_client(analysis: Analysis, count: int) -> Figure:
    rows = rows_at(analysis, count)
    seats = max((len(row.client_means) for _, row in rows), default=count)
    drawn = min(seats, CLIENTS_DRAWN_MAX)
    highs = [mean.high_ms or 0.0 for _, row in rows for mean in row.client_means[:drawn]]
    panel = Panel(
        Axis.categories(CLIENT, range(1, drawn + 1)),
        Axis.from_zero(Message("drawing.mean_ms"), highs),
        rows_legend(rows),
    )
    if not any(row.trials for _, row in rows):
        panel.note(Message("figure.empty"))
    for series, row in rows:
        for mean in row.client_means[:drawn]:
            x = mean.client + category_shift(series, len(rows))
            if mean.mean_ms is not None and mean.low_ms is not None and mean.high_ms is not None:
                panel.range_up(x, mean.low_ms, mean.high_ms, series)
                panel.marker(x, mean.mean_ms, series, small=drawn * len(rows) > MARKERS_LARGE_MAX)
    title = Message("figure.delay_per_client", {"clients": clients(count)})
    measured = Drawing(
        Message("drawing.this_run_ms"),
        Picture(panel, f"delay{count}", title=title, description=_means_in_words(rows)),
    )
    return Figure(
        title,
        _caption(seats, drawn),
        (measured, *_published_per_client(analysis, count)),
        _table_per_client(rows, count, drawn),
    )


def _caption(seats: int, drawn: int) -> Message:
    means = Message("caption.per_client")
    return Message("caption.per_client.cut", {"means": means, "n": drawn}) if drawn < seats else means


def _published_per_client(analysis: Analysis, count: int) -> Iterator[Drawing]:
    study, series_of = repeated_study(), series_of_transports(analysis)
    means = [mean for name in series_of if (mean := study.delay_at(name, count))]
    if not means:
        return
    points = [(name, *point) for name in series_of for point in _published_clients(name, count).items()]
    panel = Panel(
        Axis.categories(CLIENT, range(1, count + 1)),
        Axis.from_zero(
            Message("drawing.mean_s"),
            [*(each.value for each in means), *(delay_s for _, _, delay_s in points)],
        ),
        [(series_of[each.transport], TRANSPORT_TITLES[each.transport]) for each in means],
    )
    for each in means:
        panel.level(each.value, series_of[each.transport])
    for transport, client, delay_s in points:
        panel.marker(
            client - 1 + category_shift(series_of[transport], len(series_of)), delay_s, series_of[transport]
        )
    described = clauses(
        Message(
            "drawing.arm_s",
            {"arm": TRANSPORT_TITLES[each.transport], "n": Message("cell.as_written", {"n": each.value})},
        )
        for each in means
    )
    yield Drawing(
        Message("drawing.published_s_line"),
        Picture(
            panel,
            f"delay{count}p",
            title=Message("figure.delay_published", {"clients": clients(count)}),
            description=described,
        ),
    )


def _published_clients(transport: str, count: int) -> dict[int, float]:
    """Return the delays in seconds that the SSE study published, by client from 1; empty where it has none.

    At a count of one client it is the published mean.
    """
    study = repeated_study()
    mean = study.delay_at(transport, 1)
    if count == 1 and mean:
        return {1: mean.value}
    points = [each for each in study.delay_points if (each.transport, each.clients) == (transport, count)]
    return {each.client: each.delay_s for each in points}


def _table_per_client(rows: Sequence[tuple[int, SummaryRow]], count: int, drawn: int) -> Table:
    found: list[tuple[Text, ...]] = []
    for _, row in rows:
        published = _published_clients(row.arm.transport, count)
        for mean in row.client_means[:drawn]:
            delay_s = published.get(mean.client + 1)
            found.append(
                (
                    *(arm_title(row.arm), mean.client + 1),
                    *(mean.mean_ms, mean.low_ms, mean.high_ms),
                    None if delay_s is None else Message("cell.published", {"n": delay_s}),
                )
            )
        overall = published_cell(repeated_study().delay_at(row.arm.transport, count))
        found.append((arm_title(row.arm), Message("cell.all"), row.delay_ms_mean, None, None, overall))
    return Table(headings_of("arm", "client", "mean_ms", "lowest_ms", "highest_ms", "published_s"), found)


def _delay_against_clients(analysis: Analysis) -> Figure:
    study, series_of = repeated_study(), series_of_transports(analysis)
    lines = measured_lines(analysis, lambda row: row.delay_ms_mean)
    published = published_lines(study.delay_s, series_of)
    title = Message("figure.delay_against")
    return Figure(
        title,
        Message("caption.delay_against"),
        (
            Drawing(
                Message("drawing.this_run_ms"),
                against_clients(
                    "delayn",
                    title,
                    Message("drawing.mean_ms"),
                    lines,
                    series_of_arms(analysis),
                    planned=analysis.client_counts,
                ),
            ),
            Drawing(
                Message("drawing.published_s"),
                against_clients(
                    "delaynp",
                    Message("figure.published", {"title": title}),
                    Message("drawing.mean_s"),
                    published,
                    published_legend(series_of),
                    planned=analysis.client_counts,
                ),
            ),
            Drawing(Message("drawing.both"), _together(analysis, lines, published)),
        ),
        Table(
            headings_of("arm", "clients", "mean_ms", "published_s"),
            [
                (
                    arm_title(row.arm),
                    row.clients,
                    row.delay_ms_mean,
                    published_cell(study.delay_at(row.arm.transport, row.clients)),
                )
                for row in analysis.summary
            ],
        ),
    )


def _together(analysis: Analysis, lines: Lines, published: Lines) -> Picture:
    """Return a drawing of measured and published delays on one logarithmic axis, `published` given in seconds."""
    in_ms = {series: [(x, 1000 * y) for x, y in points] for series, points in published.items()}
    heights = [y for each in (lines, in_ms) for points in each.values() for _, y in points]
    panel = Panel(
        count_axis(lines, in_ms, planned=analysis.client_counts),
        Axis.decades(Message("drawing.mean_ms"), heights),
        series_of_arms(analysis),
    )
    for series, points in lines.items():
        panel.line([point for point in points if point[1] > 0], series)
    for series, points in in_ms.items():
        panel.line(points, series)
    for which, words in ((in_ms, Message("drawing.published")), (lines, Message("drawing.this_run"))):
        if lowest := min((y for points in which.values() for _, y in points if y > 0), default=None):
            panel.caption(lowest, words)
    return Picture(
        panel,
        "delaynb",
        title=Message("drawing.both_title"),
        description=Message("drawing.both_described"),
    )


def _means_in_words(rows: Sequence[tuple[int, SummaryRow]]) -> Message:
    return clauses(
        Message("drawing.arm_ms", {"arm": arm_title(row.arm), "n": row.delay_ms_mean}) for _, row in rows
    )
