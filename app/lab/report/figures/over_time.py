"""A report's figure of delay over the course of a trial."""

from __future__ import annotations

from collections.abc import Sequence

from app.core.messages import Message, clauses
from app.lab.analysis.analyse import Analysis
from app.lab.analysis.descriptive.over_time import STRETCHES_MAX, Stretch, over_time
from app.lab.analysis.words import arm_title, clients
from app.lab.report.document import Drawing, Figure, Table, headings_of
from app.lab.report.figures.series import DELAY_MS, category_shift, rows_at, rows_legend
from app.lab.report.panel import Axis, Panel, Picture

ROWS_PER_ARM = 6
"""Rows of the table per arm and count of clients; the drawing divides a trial more finely."""


def time_figure(analysis: Analysis) -> Figure:
    """Return the figure of delay over a trial: a drawing for each count of clients, and a table."""
    counts = analysis.client_counts
    return Figure(
        Message("figure.over_time"),
        Message("caption.over_time", {"n": STRETCHES_MAX}),
        tuple(Drawing(clients(count), _drawing(analysis, count)) for count in counts),
        _table(analysis),
    )


def _drawing(analysis: Analysis, count: int) -> Picture:
    rows = rows_at(analysis, count)
    stretches = {series: over_time(analysis, row) for series, row in rows}
    every = [each for own in stretches.values() for each in own]
    panel = Panel(
        Axis.from_zero(Message("figure.over_time.axis"), [each.to_s for each in every]),
        Axis.decades(DELAY_MS, [value for each in every for value in (each.low_ms, each.high_ms)]),
        rows_legend(rows),
    )
    for series, own in stretches.items():
        points = []
        for each in own:
            x = (each.from_s + each.to_s) / 2 + category_shift(series, len(rows)) * (each.to_s - each.from_s)
            for extreme_ms in (each.low_ms, each.high_ms):
                if extreme_ms > 0:
                    panel.marker(x, extreme_ms, series, small=True)
            if each.middle_ms > 0:
                points.append((x, each.middle_ms))
        panel.line(points, series, marks=False)
    if not every:
        panel.note(Message("figure.empty"))
    described = clauses(_highest(arm_title(row.arm), stretches[series]) for series, row in rows)
    return Picture(
        panel,
        f"time{count}",
        title=Message("figure.over_time.title", {"clients": clients(count)}),
        description=described,
    )


def _highest(arm: str, stretches: Sequence[Stretch]) -> Message:
    highest = max((each.high_ms for each in stretches), default=None)
    return Message("figure.over_time.described", {"arm": arm, "n": highest})


def _table(analysis: Analysis) -> Table:
    return Table(
        headings_of("transport", "clients", "from_s", "to_s", "n", "lowest_ms", "median_ms", "highest_ms"),
        [
            (
                *(arm_title(row.arm), row.clients, each.from_s, each.to_s),
                *(each.samples, each.low_ms, each.middle_ms, each.high_ms),
            )
            for row in analysis.summary
            for each in over_time(analysis, row, stretches=ROWS_PER_ARM)
        ],
    )
