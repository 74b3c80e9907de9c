"""The figure of delay over the course of a trial."""

from __future__ import annotations

from app.core.messages import Message
from app.lab.analysis.analyse import Analysis
from app.lab.analysis.descriptive.over_time import STRETCHES_MAX, Stretch, over_time
from app.lab.analysis.words import arm_title, clients, number
from app.lab.report.document import Drawing, Figure, Table, headings_of
from app.lab.report.figures.series import category_shift, rows_at, rows_legend
from app.lab.report.panel import Axis, Panel, Picture

ROWS_PER_ARM = 6
"""Rows per arm of the table, which is coarser than the drawing."""


def time_figure(analysis: Analysis) -> Figure:
    """Return the figure: a drawing for each count of clients, and a table with a few rows per arm."""
    counts = analysis.client_counts
    return Figure(
        Message("figure.over_time"),
        f"Thinned: each trial is cut into at most {STRETCHES_MAX} stretches of equal length, and all samples of the valid blocks "
        "that were due in one are pooled. Line: their median. Small marks: their lowest and their highest, so that no "
        "extreme is lost. The scale is logarithmic; what is not above 0 has no place on it.",
        tuple(Drawing(clients(count), _drawing(analysis, count)) for count in counts),
        _table(analysis),
    )


def _drawing(analysis: Analysis, count: int) -> Picture:
    rows = rows_at(analysis, count)
    stretches = {series: over_time(analysis, row) for series, row in rows}
    every = [each for own in stretches.values() for each in own]
    panel = Panel(
        Axis.from_zero(Message("figure.over_time.axis"), [each.to_s for each in every]),
        Axis.decades("delay, ms", [value for each in every for value in (each.low_ms, each.high_ms)]),
        rows_legend(rows),
    )
    for series, own in stretches.items():
        points = []
        for each in own:
            x = _middle_s(each) + category_shift(series, len(rows)) * (each.to_s - each.from_s)
            for extreme_ms in (each.low_ms, each.high_ms):
                if extreme_ms > 0:
                    panel.marker(x, extreme_ms, series, small=True)
            if each.middle_ms > 0:
                points.append((x, each.middle_ms))
        panel.line(points, series, marks=False)
    if not every:
        panel.note(Message("figure.empty"))
    described = "; ".join(
        f"{arm_title(row.arm)}: highest {number(max((each.high_ms for each in stretches[series]), default=None))} ms"
        for series, row in rows
    )
    return Picture(
        panel,
        f"time{count}",
        title=Message("figure.over_time.title", {"clients": clients(count)}),
        description=described,
    )


def _table(analysis: Analysis) -> Table:
    return Table(
        headings_of("arm", "clients", "from_s", "to_s", "n", "lowest_ms", "median_ms", "highest_ms"),
        [
            (
                *(arm_title(row.arm), str(row.clients), number(each.from_s), number(each.to_s)),
                *(str(each.samples), number(each.low_ms), number(each.middle_ms), number(each.high_ms)),
            )
            for row in analysis.summary
            for each in over_time(analysis, row, stretches=ROWS_PER_ARM)
        ],
    )


def _middle_s(stretch: Stretch) -> float:
    return (stretch.from_s + stretch.to_s) / 2
