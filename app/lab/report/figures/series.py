"""Series, legends, and lines over counts of clients, which several figures share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from app.core.messages import Message
from app.lab.analysis.analyse import Analysis
from app.lab.analysis.summary import SummaryRow
from app.lab.analysis.words import TRANSPORT_TITLES, arm_title
from app.lab.report.panel import Axis, Panel, Picture, Point
from app.lab.studies.published import PublishedMean

Lines = Mapping[int, Sequence[Point]]
"""Points by series; a series is an arm's index in the plan."""


def series_of_arms(analysis: Analysis) -> list[tuple[int, str]]:
    """Return the legend of all arms in the plan's order."""
    return [(series, arm_title(arm)) for series, arm in enumerate(analysis.run.plan.arms)]


def series_of_transports(analysis: Analysis) -> dict[str, int]:
    """Return the series of each transport for published figures: that of the first arm that uses it."""
    series: dict[str, int] = {}
    for index, arm in enumerate(analysis.run.plan.arms):
        series.setdefault(arm.transport, index)
    return series


def published_legend(series_of: Mapping[str, int]) -> list[tuple[int, str]]:
    """Return the legend of a panel of published figures."""
    return [(series, TRANSPORT_TITLES[transport]) for transport, series in series_of.items()]


def rows_at(analysis: Analysis, count: int) -> list[tuple[int, SummaryRow]]:
    """Return each arm's series and summary at one count of clients."""
    return [(series, analysis.row(arm, count)) for series, arm in enumerate(analysis.run.plan.arms)]


def rows_legend(rows: Sequence[tuple[int, SummaryRow]]) -> list[tuple[int, str]]:
    """Return the legend of rows from `rows_at`."""
    return [(series, arm_title(row.arm)) for series, row in rows]


def category_shift(place: int, count: int) -> float:
    """Return the horizontal shift of one of `count` arms within a category, so that their marks do not overlap."""
    return 0.24 * (place - (count - 1) / 2) if count > 1 else 0.0


def measured_lines(analysis: Analysis, figure: Callable[[SummaryRow], float | None]) -> Lines:
    """Return each arm's values of a figure over the counts of clients."""
    return {
        series: [
            (float(row.clients), value)
            for row in analysis.summary
            if row.arm.name == arm.name and (value := figure(row)) is not None
        ]
        for series, arm in enumerate(analysis.run.plan.arms)
    }


def published_lines(means: Sequence[PublishedMean], series_of: Mapping[str, int]) -> Lines:
    """Return a study's values over its counts of clients, for the transports that the run has."""
    return {
        series: sorted((float(each.clients), each.value) for each in means if each.transport == transport)
        for transport, series in series_of.items()
    }


def published_text(mean: PublishedMean | None) -> str:
    """Return a published mean as text; a star marks one that was derived from the study's text."""
    return "-" if mean is None else f"{mean.value:.3f}{' *' if mean.derived else ''}"


def count_axis(*lines: Lines) -> Axis:
    """Return an axis of counts of clients to scale, with a tick at each count."""
    counts = sorted({x for each in lines for points in each.values() for x, _ in points}) or [1.0]
    edge = 0.08 * (counts[-1] - counts[0]) or 0.5
    return Axis(
        "clients", counts[0] - edge, counts[-1] + edge, names={count: f"{count:g}" for count in counts}
    )


def against_clients(
    name: str, title: str, y_label: str, lines: Lines, legend: Sequence[tuple[int, str]]
) -> Picture:
    """Return a drawing of lines over counts of clients, with a y axis from 0."""
    values = [y for points in lines.values() for _, y in points]
    panel = Panel(count_axis(lines), Axis.from_zero(y_label, values), legend)
    if not values:
        panel.note(Message("figure.empty"))
    for series, points in lines.items():
        panel.line(points, series)
    return Picture(panel, name, title=title, description="; ".join(_descriptions(lines, legend)))


def _descriptions(lines: Lines, legend: Sequence[tuple[int, str]]) -> list[str]:
    return [f"{name} {y:.3f} at {x:g}" for series, name in legend for x, y in lines.get(series, ())]
