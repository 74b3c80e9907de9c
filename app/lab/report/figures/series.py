"""Series, legends, and lines over counts of clients, which several figures share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from app.lab.analysis.analyse import Analysis
from app.lab.analysis.summary import SummaryRow
from app.lab.analysis.words import TRANSPORT_TITLES, arm_title
from app.lab.report.figures.svg import Axis, Panel, Point
from app.lab.studies.published import PublishedMean

Lines = Mapping[int, Sequence[Point]]
"""Points by series: an arm's place in the plan."""


def series_of_arms(analysis: Analysis) -> list[tuple[int, str]]:
    """The legend of all arms: each has the series of its place in the plan."""
    return [(series, arm_title(arm)) for series, arm in enumerate(analysis.run.plan.arms)]


def series_of_transports(analysis: Analysis) -> dict[str, int]:
    """For published figures: a transport has the series of the first arm that uses it; others are not shown."""
    series: dict[str, int] = {}
    for index, arm in enumerate(analysis.run.plan.arms):
        series.setdefault(arm.transport, index)
    return series


def published_legend(series_of: Mapping[str, int]) -> list[tuple[int, str]]:
    """The legend of a published panel."""
    return [(series, TRANSPORT_TITLES[transport]) for transport, series in series_of.items()]


def rows_at(analysis: Analysis, count: int) -> list[tuple[int, SummaryRow]]:
    """Each arm's series and summary at one count of clients."""
    return [(series, analysis.row(arm, count)) for series, arm in enumerate(analysis.run.plan.arms)]


def rows_legend(rows: Sequence[tuple[int, SummaryRow]]) -> list[tuple[int, str]]:
    """The legend of such rows."""
    return [(series, arm_title(row.arm)) for series, row in rows]


def aside(place: int, count: int) -> float:
    """How far the n-th of so many arms stands beside the middle of its category, so that none hides another."""
    return 0.24 * (place - (count - 1) / 2) if count > 1 else 0.0


def measured_lines(analysis: Analysis, figure: Callable[[SummaryRow], float | None]) -> Lines:
    """An arm's figure over the counts of clients."""
    return {
        series: [
            (float(row.clients), value)
            for row in analysis.summary
            if row.arm.name == arm.name and (value := figure(row)) is not None
        ]
        for series, arm in enumerate(analysis.run.plan.arms)
    }


def published_lines(means: Sequence[PublishedMean], series_of: Mapping[str, int]) -> Lines:
    """A study's figure over its counts of clients, of the transports that the run has."""
    return {
        series: sorted((float(each.clients), each.value) for each in means if each.transport == transport)
        for transport, series in series_of.items()
    }


def published_text(mean: PublishedMean | None) -> str:
    """A published mean as it was printed; a star marks one that was derived from the text."""
    return "-" if mean is None else f"{mean.value:.3f}{' *' if mean.derived else ''}"


def count_axis(*lines: Lines) -> Axis:
    """Counts of clients as categories would lie: at their own distance, each with a tick."""
    counts = sorted({x for each in lines for points in each.values() for x, _ in points}) or [1.0]
    edge = 0.08 * (counts[-1] - counts[0]) or 0.5
    return Axis(
        "clients", counts[0] - edge, counts[-1] + edge, names={count: f"{count:g}" for count in counts}
    )


def against_clients(
    name: str, title: str, y_label: str, lines: Lines, legend: Sequence[tuple[int, str]]
) -> str:
    """A drawing of lines over counts of clients, from 0."""
    values = [y for points in lines.values() for _, y in points]
    panel = Panel(count_axis(lines), Axis.from_zero(y_label, values), legend)
    if not values:
        panel.note("no valid block")
    for series, points in lines.items():
        panel.line(points, series)
    return panel.svg(name, title=title, description="; ".join(_in_words(lines, legend)))


def _in_words(lines: Lines, legend: Sequence[tuple[int, str]]) -> list[str]:
    return [f"{name} {y:.3f} at {x:g}" for series, name in legend for x, y in lines.get(series, ())]
