"""A report's figures of the shape of delays: tail quantiles, a box plot per client, and delay by order of writing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from app.core.messages import Message, Text, clauses
from app.lab.analysis.analyse import Analysis
from app.lab.analysis.descriptive.shapes import HALF, ClientBox, Nine, boxes, places, tails
from app.lab.analysis.metrics.positions import PositionFigures
from app.lab.analysis.statistics.quantile import median
from app.lab.analysis.words import arm_title, clients
from app.lab.report.document import Drawing, Figure, Table, headings_of
from app.lab.report.figures.series import DELAY_MS, category_shift, median_described, rows_at, rows_legend
from app.lab.report.panel import Axis, Panel, Picture

Item = TypeVar("Item")

BOXES_MAX = 12
"""Most boxes in a drawing, clients times arms, that can be told apart; `clients.csv` has every client."""

NINES_SHOWN = ((50.0, HALF), (90.0, 1.0), (99.0, 2.0), (99.9, 3.0), (99.99, 4.0))
"""Percentages in the columns of the table, each with its count of nines (99 % has two)."""


def nines_figure(analysis: Analysis) -> Figure:
    """Return the figure of delay by quantile, on an axis of nines (99 % has two): a drawing per count of clients."""
    return Figure(
        Message("figure.nines"),
        Message("caption.nines"),
        tuple(Drawing(clients(count), _nines_drawing(analysis, count)) for count in analysis.client_counts),
        Table(
            (
                *headings_of("transport", "clients"),
                *(Message("heading.percent_ms", {"n": percent}) for percent, _ in NINES_SHOWN),
            ),
            [
                (arm_title(row.arm), row.clients, *_delays_at_nines(tail))
                for row, tail in zip(analysis.summary, tails(analysis), strict=True)
            ],
        ),
    )


def boxes_figure(analysis: Analysis) -> Figure:
    """Return the figure of a box plot per client: a drawing per count of clients, and a table.

    A drawing shows only as many clients, the first ones, that there are at most `BOXES_MAX` boxes, but at least one
    client. The table has the first `BOXES_MAX` clients of each arm and count.
    """
    drawn = max(BOXES_MAX // len(analysis.run.plan.arms), 1)
    return Figure(
        Message("figure.boxes"),
        Message("caption.boxes", {"clients": clients(drawn)}),
        tuple(
            Drawing(clients(count), _boxes_drawing(analysis, count, drawn))
            for count in analysis.client_counts
        ),
        Table(
            headings_of(
                "transport",
                "clients",
                "client",
                "n",
                "lowest_ms",
                "quarter_ms",
                "median_ms",
                "three_quarters_ms",
                "highest_ms",
            ),
            [
                (
                    *(arm_title(row.arm), row.clients, each.client + 1, each.samples),
                    *(each.low_ms, each.q1_ms, each.middle_ms, each.q3_ms, each.high_ms),
                )
                for row, own in zip(analysis.summary, boxes(analysis), strict=True)
                for each in own[: max(drawn, BOXES_MAX)]
            ],
        ),
    )


def places_figure(analysis: Analysis) -> Figure | None:
    """Return the figure of the server's part of the delay by order of writing, a drawing per count of clients.

    `None` if the server recorded no writes, or there is no trial with more than one client.
    """
    rows = [
        (row, found)
        for row, found in zip(analysis.summary, places(analysis), strict=True)
        if row.clients > 1 and found
    ]
    if not rows:
        return None
    counts = sorted({row.clients for row, _ in rows})
    return Figure(
        Message("figure.places"),
        Message("caption.places"),
        tuple(Drawing(clients(count), _places_drawing(analysis, count)) for count in counts),
        Table(
            headings_of("transport", "clients", "spread_ms", "us_per_place", "same_client_first"),
            [
                (
                    *(arm_title(row.arm), row.clients),
                    _middle([each.spread_ms_p50 for each in found]),
                    _middle([each.effect_us_per_place for each in found]),
                    _middle([each.first_share_max for each in found]),
                )
                for row, found in rows
            ],
        ),
    )


def _nines_drawing(analysis: Analysis, count: int) -> Picture:
    rows = rows_at(analysis, count)
    own = _by_series(analysis, count, tails(analysis))
    end = max((tail[-1].nines for tail in own.values() if tail), default=1.0)
    percents = {0.0: 0.0, **{nines: percent for percent, nines in NINES_SHOWN}, 5.0: 99.999}
    names = {nines: Message("figure.percent", {"n": percent}) for nines, percent in percents.items()}
    panel = Panel(
        Axis(
            Message("figure.curves.axis"),
            0.0,
            max(end, 1.0),
            names={at: name for at, name in names.items() if at <= end},
        ),
        Axis.from_zero(DELAY_MS, [each.delay_ms for tail in own.values() for each in tail]),
        rows_legend(rows),
    )
    if not any(own.values()):
        panel.note(Message("figure.empty"))
    for series, tail in own.items():
        panel.line([(each.nines, each.delay_ms) for each in tail], series, marks=False)
        for each in tail:
            if each.nines in names:
                panel.marker(each.nines, each.delay_ms, series)
    described = clauses(
        Message("figure.nines.described", {"arm": arm_title(row.arm), "n": own[series][-1].delay_ms})
        for series, row in rows
        if own[series]
    )
    return Picture(
        panel,
        f"nines{count}",
        title=Message("figure.nines.title", {"clients": clients(count)}),
        description=described,
    )


def _delays_at_nines(tail: Sequence[Nine]) -> list[float | None]:
    found = {each.nines: each.delay_ms for each in tail}
    return [found.get(nine) for _, nine in NINES_SHOWN]


def _boxes_drawing(analysis: Analysis, count: int, drawn: int) -> Picture:
    rows = rows_at(analysis, count)
    shown = {series: own[:drawn] for series, own in _by_series(analysis, count, boxes(analysis)).items()}
    every: list[ClientBox] = [each for own in shown.values() for each in own]
    seats = max((each.client + 1 for each in every), default=min(count, drawn))
    panel = Panel(
        Axis.categories(Message("heading.client"), range(1, seats + 1)),
        Axis.from_zero(DELAY_MS, [value for each in every for value in (each.low_ms, each.high_ms)]),
        rows_legend(rows),
    )
    if not every:
        panel.note(Message("figure.empty"))
    for series, own in shown.items():
        for each in own:
            x = each.client + category_shift(series, len(rows))
            panel.range_up(x, each.low_ms, each.high_ms, series)
            panel.range_up(x, each.q1_ms, each.q3_ms, series, thick=True)
            panel.marker(x, each.middle_ms, series)
    described = clauses(median_described(row) for _, row in rows)
    return Picture(
        panel,
        f"boxes{count}",
        title=Message("figure.boxes.title", {"clients": clients(count)}),
        description=described,
    )


def _by_series(analysis: Analysis, count: int, items: Sequence[Item]) -> dict[int, Item]:
    """Return the items that belong to the summary's rows with `count` clients, by series; `items` has one per row."""
    series = {arm.name: place for place, arm in enumerate(analysis.run.plan.arms)}
    return {
        series[row.arm.name]: each
        for row, each in zip(analysis.summary, items, strict=True)
        if row.clients == count
    }


def _places_drawing(analysis: Analysis, count: int) -> Picture:
    rows = rows_at(analysis, count)
    lines = {
        series: _by_place(found) for series, found in _by_series(analysis, count, places(analysis)).items()
    }
    heights = [y for points in lines.values() for _, y in points]
    panel = Panel(
        Axis(Message("figure.places.axis"), 0.5, count + 0.5, names=_place_names(count)),
        Axis.from_zero(Message("figure.places.y"), heights),
        rows_legend(rows),
    )
    for series, points in lines.items():
        panel.line(points, series, marks=count <= BOXES_MAX)
    described = clauses(
        Message("figure.places.described", {"arm": arm_title(row.arm), "n": lines[series][-1][1]})
        for series, row in rows
        if lines[series]
    )
    return Picture(
        panel,
        f"places{count}",
        title=Message("figure.places.title", {"clients": clients(count)}),
        description=described,
    )


def _place_names(count: int) -> dict[float, Text]:
    return {float(place): place for place in range(1, count + 1)}


def _by_place(found: Sequence[PositionFigures]) -> list[tuple[float, float]]:
    """Return (place, median ms over trials of the server's part of the delay); place 1 is written first."""
    places: dict[int, list[float]] = {}
    for each in found:
        for row in each.places:
            places.setdefault(row.place, []).append(row.server_ms_p50)
    return [(place + 1.0, median(values) or 0.0) for place, values in sorted(places.items())]


def _middle(values: Sequence[float | None]) -> float | None:
    return median([value for value in values if value is not None])
