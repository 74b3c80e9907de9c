"""Series, legends, and lines over counts of clients, which most figures of a report share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from app.core.messages import Message, Text, clauses
from app.lab.analysis.analyse import Analysis
from app.lab.analysis.summary import SummaryRow
from app.lab.analysis.words import TRANSPORT_TITLES, arm_title, metric, with_unit
from app.lab.report.panel import Axis, Panel, Picture, Point
from app.lab.studies.published import PublishedMean

DELAY_MS = with_unit(metric("delay_ms_p50"), "ms")
"""Label of an axis of delays."""

Lines = Mapping[int, Sequence[Point]]
"""Points (x, y) by series; a series is the 0-based index of an arm in the plan."""


def series_of_arms(analysis: Analysis) -> list[tuple[int, str]]:
    """Return the legend of all arms in the plan's order: pairs (series, arm's name for readers)."""
    return [(series, arm_title(arm)) for series, arm in enumerate(analysis.run.plan.arms)]


def series_of_transports(analysis: Analysis) -> dict[str, int]:
    """Return the series in which each transport's published figures are drawn, by transport.

    It is the series of the first arm with that transport: its index in the plan.
    """
    series: dict[str, int] = {}
    for index, arm in enumerate(analysis.run.plan.arms):
        series.setdefault(arm.transport, index)
    return series


def published_legend(series_of: Mapping[str, int]) -> list[tuple[int, str]]:
    """Return the legend of a drawing of published figures: pairs (series, name of the transport).

    `series_of`: from `series_of_transports`.
    """
    return [(series, TRANSPORT_TITLES[transport]) for transport, series in series_of.items()]


def rows_at(analysis: Analysis, count: int) -> list[tuple[int, SummaryRow]]:
    """Return pairs (series, row of the summary), one of each arm at `count` clients, in the plan's order.

    Raises `StopIteration` if the run has no such count.
    """
    return [(series, analysis.row(arm, count)) for series, arm in enumerate(analysis.run.plan.arms)]


def rows_legend(rows: Sequence[tuple[int, SummaryRow]]) -> list[tuple[int, str]]:
    """Return the legend of the arms in `rows`, which come from `rows_at`: pairs (series, arm's name)."""
    return [(series, arm_title(row.arm)) for series, row in rows]


def category_shift(place: int, count: int) -> float:
    """Return by how much an arm's mark is moved along x, so that the marks of a category do not overlap.

    A category has width 1. `place`: the arm's, from 0. `count`: the number of arms.
    """
    return 0.24 * (place - (count - 1) / 2) if count > 1 else 0.0


def measured_lines(analysis: Analysis, figure: Callable[[SummaryRow], float | None]) -> Lines:
    """Return the line of each arm, by series: points (count of clients, figure).

    `figure`: reads the figure from a row of the summary; where it is `None`, there is no point.
    """
    return {
        series: [
            (float(row.clients), value)
            for row in analysis.summary
            if row.arm.name == arm.name and (value := figure(row)) is not None
        ]
        for series, arm in enumerate(analysis.run.plan.arms)
    }


def published_lines(means: Sequence[PublishedMean], series_of: Mapping[str, int]) -> Lines:
    """Return the line of each transport of the run, by series: points (count of clients, published mean).

    `series_of`: from `series_of_transports`.
    """
    return {
        series: sorted((float(each.clients), each.value) for each in means if each.transport == transport)
        for transport, series in series_of.items()
    }


def published_cell(mean: PublishedMean | None) -> Text:
    """Return a published mean as a table's cell; a star marks one that was derived from the text of the study."""
    return (
        None
        if mean is None
        else Message(f"cell.published{'.derived' if mean.derived else ''}", {"n": mean.value})
    )


def described_value(name: Text, value: float | None, unit: str) -> Message:
    """Return a phrase with name, value and unit, for readers who do not see the drawing."""
    return Message("drawing.value", {"name": name, "n": value, "unit": unit})


def median_described(row: SummaryRow) -> Message:
    """Return a phrase with an arm's median delay, for readers who do not see the drawing."""
    return Message("figure.curves.described", {"arm": arm_title(row.arm), "n": row.delay_ms_p50})


def count_axis(*lines: Lines, planned: Sequence[int]) -> Axis:
    """Return an axis of counts of clients, with a tick at each count that the lines have; distances are to scale.

    `planned`: the run's counts, which have the ticks where the lines have no point.
    """
    measured = sorted({x for each in lines for points in each.values() for x, _ in points})
    counts = measured or sorted(map(float, planned)) or [1.0]
    edge = 0.08 * (counts[-1] - counts[0]) or 0.5
    return Axis(
        Message("heading.clients"),
        counts[0] - edge,
        counts[-1] + edge,
        names={count: Message("figure.tick", {"n": count}) for count in counts},
    )


def against_clients(
    name: str,
    title: Text,
    y_label: Text,
    lines: Lines,
    legend: Sequence[tuple[int, str]],
    *,
    planned: Sequence[int],
) -> Picture:
    """Return a drawing of lines over counts of clients, with a y axis from 0; without points it says so.

    `name`: that of the drawing, unique in the report. `legend`: pairs (series, name). `planned`: the run's counts of
    clients, for an empty drawing.
    """
    values = [y for points in lines.values() for _, y in points]
    panel = Panel(count_axis(lines, planned=planned), Axis.from_zero(y_label, values), legend)
    if not values:
        panel.note(Message("figure.empty"))
    for series, points in lines.items():
        panel.line(points, series)
    return Picture(panel, name, title=title, description=clauses(_descriptions(lines, legend)))


def _descriptions(lines: Lines, legend: Sequence[tuple[int, str]]) -> list[Message]:
    return [
        Message("drawing.at", {"arm": name, "n": y, "n1": x})
        for series, name in legend
        for x, y in lines.get(series, ())
    ]
