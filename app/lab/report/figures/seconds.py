"""The figure of a run second by second, at its largest count of clients."""

from __future__ import annotations

from collections.abc import Callable

from app.core.messages import Message
from app.lab.analysis.analyse import Analysis
from app.lab.analysis.descriptive.seconds import SecondsRow, seconds
from app.lab.analysis.metrics.telemetry import Series
from app.lab.analysis.words import arm_title, clients, number
from app.lab.report.document import Drawing, Figure, Table
from app.lab.report.figures.series import series_of_arms
from app.lab.report.panel import Axis, Panel, Picture

SECONDS_MIN = 3
"""Shortest trial that is drawn, in seconds."""

SECONDS_DRAWN_MAX = 600
"""Seconds that are drawn at most; those of longer trials are in `deliveries.csv` and `run.sqlite`."""

CAPTION = (
    "Every second's mean over the valid trials and their clients, from the first notification's due time; CPU from the window's "
    "beginning, right before the warm-up. It describes: seconds of one trial resemble each other. A second without arrivals has no delay."
)

LINES: tuple[tuple[str, str, Callable[[SecondsRow], Series]], ...] = (
    ("CPU of the server", "% of all cores", lambda row: row.cpu_process_percent),
    ("machine in the kernel", "% of all cores", lambda row: row.cpu_kernel_percent),
    ("payload received per client", "kbit/s", lambda row: row.down_kbps),
    ("delay, mean", "ms", lambda row: row.delay_ms),
)


def seconds_figure(analysis: Analysis) -> Figure | None:
    """Return a figure with a panel for each quantity and a line for each arm; `None` for trials under `SECONDS_MIN`."""
    counts = analysis.client_counts
    rows = [row for row in seconds(analysis) if counts and row.clients == counts[-1]]
    length = min(max((len(row.down_kbps) for row in rows), default=0), SECONDS_DRAWN_MAX)
    if length < SECONDS_MIN:
        return None
    drawings = [
        Drawing(f"{title}, {unit}", _panel(analysis, rows, f"second{place}", title, unit, line, length))
        for place, (title, unit, line) in enumerate(LINES)
    ]
    return Figure(
        Message("seconds.title", {"clients": clients(counts[-1])}),
        CAPTION,
        tuple(drawings),
        _table(rows, length),
    )


def _panel(
    analysis: Analysis,
    rows: list[SecondsRow],
    name: str,
    title: str,
    unit: str,
    line: Callable[[SecondsRow], Series],
    length: int,
) -> Picture:
    values = [value for row in rows for value in line(row)[:length] if value is not None]
    panel = Panel(
        Axis(Message("seconds.second"), 0.0, float(length - 1)),
        Axis.from_zero(unit, values),
        series_of_arms(analysis),
    )
    if not values:
        panel.note(Message("seconds.not_recorded"))
    for series, row in enumerate(rows):
        points = [(float(at), value) for at, value in enumerate(line(row)[:length]) if value is not None]
        panel.line(points, series, marks=length <= 30)
    described = "; ".join(f"{arm_title(row.arm)}: {_middle(line(row)[:length])}" for row in rows)
    return Picture(panel, name, title=f"{title}, {unit}", description=described)


def _middle(series: Series) -> str:
    known = [value for value in series if value is not None]
    return f"{number(min(known))} to {number(max(known))}" if known else "-"


def _table(rows: list[SecondsRow], length: int) -> Table:
    return Table(
        ("arm", "second", *(f"{title}, {unit}" for title, unit, _ in LINES)),
        [
            (
                arm_title(row.arm),
                str(second),
                *(number(line(row)[second] if second < len(line(row)) else None) for _, _, line in LINES),
            )
            for row in rows
            for second in range(length)
        ],
    )
