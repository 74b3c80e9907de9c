"""A report's figures of the evidence for verdicts: differences of arms with intervals, and distributions of delay."""

from __future__ import annotations

from collections.abc import Sequence

from app.core.messages import Message, Text, clauses, interval
from app.lab.analysis.analyse import Analysis
from app.lab.analysis.comparison.compare_arms import Comparison
from app.lab.analysis.comparison.sentences import difference_title
from app.lab.analysis.summary import CURVE_POINTS_MAX
from app.lab.analysis.words import METRIC_UNITS, arm_title, clients, metric, metric_title, with_unit
from app.lab.report.document import Drawing, Figure, Table, headings_of
from app.lab.report.figures.series import DELAY_MS, described_value, median_described, rows_at, rows_legend
from app.lab.report.panel import Axis, Panel, Picture
from app.lab.report.statements import verdict_words

CURVE_SHARE = 0.99
"""Share of the delays up to which the axis of a distribution reaches, so that an outlier does not flatten the rest."""

SHARES = (0.0, 0.25, 0.5, 0.75, 0.9, 0.95, 1.0)
"""Quantiles, 0 to 1, in a distribution's table; they describe the delays of all valid blocks together."""


def forest_figure(analysis: Analysis) -> Figure:
    """Return the figure of differences between arms, with intervals and margins: a drawing per metric and arm."""
    groups: dict[tuple[str, str], list[Comparison]] = {}
    for each in analysis.comparisons:
        groups.setdefault((each.metric, each.b.name), []).append(each)
    drawings = [_forest(f"forest{index}", group) for index, group in enumerate(groups.values())]
    return Figure(
        Message("figure.forest"),
        Message("caption.forest"),
        tuple(drawings),
        difference_table(analysis),
    )


def curve_figure(analysis: Analysis) -> Figure:
    """Return the figure of delay distributions: a drawing per count of clients, a line per arm."""
    counts = analysis.client_counts
    return Figure(
        Message("figure.curves"),
        Message("caption.curves", {"n": 100 * CURVE_SHARE, "n2": CURVE_POINTS_MAX}),
        tuple(Drawing(clients(count), _curves(analysis, count)) for count in counts),
        Table(
            (
                *headings_of("transport", "clients"),
                *(Message("heading.percent_ms", {"n": round(100 * share)}) for share in SHARES),
            ),
            [
                (
                    arm_title(row.arm),
                    count,
                    *(_quantile(row.curve.delay_ms, share) for share in SHARES),
                )
                for count in counts
                for _, row in rows_at(analysis, count)
            ],
        ),
    )


def difference_table(analysis: Analysis) -> Table:
    """Return a table of differences between arms, with intervals, margins and verdicts: a row per comparison."""
    headings = headings_of(
        *("metric", "clients", "b_-_a", "difference", "95_%_interval", "holm_level_%", "holm_interval"),
        *("90_%_interval", "margin_±", "equivalent", "blocks", "verdict"),
    )
    return Table(headings, [_difference(each) for each in analysis.comparisons], frozenset({0, 2, 9, 11}))


def _difference(comparison: Comparison) -> tuple[Text, ...]:
    holm, same = comparison.holm_interval, comparison.equivalence_interval
    return (
        with_unit(metric(comparison.metric), METRIC_UNITS[comparison.metric]),
        comparison.clients,
        difference_title(comparison),
        comparison.estimate,
        interval(comparison.interval.low, comparison.interval.high),
        100 * holm.level,
        interval(holm.low, holm.high),
        interval(same.low, same.high),
        comparison.margin,
        Message("cell.yes" if comparison.equivalent else "cell.no"),
        comparison.blocks,
        verdict_words(comparison),
    )


def _forest(name: str, group: Sequence[Comparison]) -> Drawing:
    first, unit, quantity = group[0], METRIC_UNITS[group[0].metric], metric_title(group[0].metric)
    difference = difference_title(first)
    rows = sorted(group, key=lambda each: -each.clients)
    reach = [abs(value) for each in rows for value in _ends(each)]
    limit = 1.1 * max(reach, default=1.0) or 1.0
    panel = Panel(
        Axis(with_unit(difference, unit), -limit, limit),
        Axis.categories("", [clients(each.clients) for each in rows]),
        height_px=64 + 34 * len(rows),
    )
    for place, each in enumerate(rows):
        if each.margin is not None:
            panel.band(place, -each.margin, each.margin)
    panel.upright(0.0)
    for place, each in enumerate(rows):
        for ends, thin in ((each.holm_interval, True), (each.interval, False)):
            if ends.low is not None and ends.high is not None:
                panel.range_along(place, ends.low, ends.high, thin=thin)
        same = each.equivalence_interval
        if same.low is not None and same.high is not None:
            panel.ends(place, same.low, same.high)
        if each.estimate is not None:
            panel.estimate(each.estimate, place)
    described = clauses(described_value(clients(each.clients), each.estimate, unit) for each in group)
    title = Message("figure.forest.title", {"quantity": quantity, "difference": difference})
    heading = Message(
        "figure.forest.drawing",
        {"quantity": with_unit(quantity, unit), "arm": arm_title(first.b), "arm1": arm_title(first.a)},
    )
    return Drawing(heading, Picture(panel, name, title, described))


def _ends(comparison: Comparison) -> list[float]:
    """Return all values that are drawn for a comparison, so that the axis holds them.

    With five blocks only the 90 % interval exists, so it has to be included.
    """
    intervals = (comparison.interval, comparison.holm_interval, comparison.equivalence_interval)
    ends = (
        *(comparison.estimate, comparison.margin),
        *(end for each in intervals for end in (each.low, each.high)),
    )
    return [value for value in ends if value is not None]


def _curves(analysis: Analysis, count: int) -> Picture:
    rows = rows_at(analysis, count)
    tops = [top for _, row in rows if (top := _quantile(row.curve.delay_ms, CURVE_SHARE)) is not None]
    x = Axis.from_zero(DELAY_MS, tops)
    panel = Panel(x, Axis(Message("figure.curves.axis"), 0.0, 1.0), rows_legend(rows))
    for series, row in rows:
        points = zip(row.curve.delay_ms, row.curve.share, strict=True)
        panel.line([point for point in points if x.low <= point[0] <= x.high], series, marks=False)
        if row.delay_ms_p50 is not None:
            panel.marker(row.delay_ms_p50, 0.5, series)
    if not tops:
        panel.note(Message("figure.empty"))
    described = clauses(median_described(row) for _, row in rows)
    return Picture(
        panel,
        f"curve{count}",
        title=Message("figure.curves.title", {"clients": clients(count)}),
        description=described,
    )


def _quantile(ordered: Sequence[float], share: float) -> float | None:
    return ordered[round(share * (len(ordered) - 1))] if ordered else None
