"""A report's figure of CPU use, bit rate and delay second by second, at the run's largest count of clients."""

from __future__ import annotations

from collections.abc import Callable

from app.core.messages import Message, Text, clauses
from app.lab.analysis.analyse import Analysis
from app.lab.analysis.descriptive.seconds import SecondsRow, seconds
from app.lab.analysis.metrics.telemetry import Series
from app.lab.analysis.words import arm_title, clients
from app.lab.report.document import Drawing, Figure, Table
from app.lab.report.figures.series import series_of_arms
from app.lab.report.panel import Axis, Panel, Picture

SECONDS_MIN = 3
"""Shortest trial that is drawn, in seconds."""

SECONDS_DRAWN_MAX = 600
"""Most seconds of a trial that are drawn; those of longer trials are in `deliveries.csv` and `run.sqlite`."""

ALL_CORES = Message("seconds.unit")

LINES: tuple[tuple[str, Text, Callable[[SecondsRow], Series]], ...] = (
    ("cpu", ALL_CORES, lambda row: row.cpu_process_percent),
    ("kernel", ALL_CORES, lambda row: row.cpu_kernel_percent),
    ("down", "kbit/s", lambda row: row.down_kbps),
    ("delay", "ms", lambda row: row.delay_ms),
)
"""For each drawing: its name in the catalogue of texts, the unit of the axis, and the values of an arm by second."""


def seconds_figure(analysis: Analysis) -> Figure | None:
    """Return a figure with a drawing per quantity and a line per arm, at the run's largest count of clients.

    `None` if the trials have fewer than `SECONDS_MIN` whole seconds. At most the first `SECONDS_DRAWN_MAX` are drawn.
    """
    counts = analysis.client_counts
    rows = [row for row in seconds(analysis) if counts and row.clients == counts[-1]]
    length = min(max((len(row.down_kbps) for row in rows), default=0), SECONDS_DRAWN_MAX)
    if length < SECONDS_MIN:
        return None
    drawings = [
        Drawing(_title(name), _panel(analysis, rows, f"second{place}", _title(name), unit, line, length))
        for place, (name, unit, line) in enumerate(LINES)
    ]
    return Figure(
        Message("seconds.title", {"clients": clients(counts[-1])}),
        Message("seconds.caption"),
        tuple(drawings),
        _table(rows, length),
    )


def _panel(
    analysis: Analysis,
    rows: list[SecondsRow],
    name: str,
    title: Message,
    unit: Text,
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
    described = clauses(_range(arm_title(row.arm), line(row)[:length]) for row in rows)
    return Picture(panel, name, title, described)


def _title(name: str) -> Message:
    return Message(f"seconds.{name}")


def _range(arm: str, series: Series) -> Message:
    known = [value for value in series if value is not None]
    if not known:
        return Message("seconds.range.none", {"arm": arm})
    return Message("seconds.range", {"arm": arm, "n": min(known), "n1": max(known)})


def _table(rows: list[SecondsRow], length: int) -> Table:
    return Table(
        (Message("heading.arm"), Message("seconds.second"), *(_title(name) for name, _, _ in LINES)),
        [
            (
                arm_title(row.arm),
                second,
                *(line(row)[second] if second < len(line(row)) else None for _, _, line in LINES),
            )
            for row in rows
            for second in range(length)
        ],
    )
