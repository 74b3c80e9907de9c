"""Descriptive tables: figures by characteristic (ISO/IEC 25023), levels per second, and intervals between arrivals."""

from __future__ import annotations

from collections.abc import Sequence

from app.core.messages import Message
from app.lab.analysis.analyse import Analysis
from app.lab.analysis.descriptive.arm_rows import DescriptiveRow
from app.lab.analysis.descriptive.figures.catalogue import COUNTED, Characteristic, Figure, figures_of
from app.lab.analysis.metrics.telemetry import LevelRow
from app.lab.analysis.summary import SummaryRow
from app.lab.analysis.words import arm_title, count_of, number
from app.lab.report.document import Table, headings_of

SECONDS_NOTE = Message("note.seconds")


def characteristic_tables(analysis: Analysis, rows: Sequence[DescriptiveRow]) -> list[tuple[str, Table]]:
    """Return name and table of each characteristic: a row per figure, a column per arm and count of clients."""
    pairs = list(zip(analysis.summary, rows, strict=True))
    columns = [f"{arm_title(row.arm)}, {count_of(row.clients, analysis.noun)}" for row in analysis.summary]
    headings = ("figure", "unit", *columns)
    return [
        (
            characteristic.value,
            Table(
                headings,
                [
                    (
                        *(figure.title, figure.unit),
                        *(_cell(figure, summary, descriptive) for summary, descriptive in pairs),
                    )
                    for figure in figures_of(characteristic)
                ],
                frozenset({0, 1}),
            ),
        )
        for characteristic in Characteristic
    ]


def formulas_table() -> Table:
    """Return formula and source of each figure."""
    rows = [
        (figure.title, figure.unit, figure.formula, figure.source)
        for characteristic in Characteristic
        for figure in figures_of(characteristic)
    ]
    return Table(headings_of("figure", "unit", "formula", "source"), rows, frozenset({0, 1, 2, 3}))


def levels_table(rows: Sequence[DescriptiveRow]) -> Table:
    """Return levels per second, like Table I of the edge-device study."""
    headings = (
        *("arm", "clients", "per second", "seconds", "mean", "p50", "p95", "min", "max"),
        *("missing rate", "zero rate"),
    )
    return Table(
        headings,
        [
            (arm_title(row.arm), str(row.clients), name, *_level(level))
            for row in rows
            for name, level in (
                ("CPU of the server %", row.course.cpu_process_percent),
                ("machine in the kernel %", row.course.cpu_kernel_percent),
                ("down kbit/s", row.down_kbps),
                ("up kbit/s", row.up_kbps),
                ("delay ms", row.delay_ms),
                ("jitter ms", row.jitter_ms),
            )
        ],
        frozenset({0, 2}),
    )


def intervals_table(rows: Sequence[DescriptiveRow]) -> Table:
    """Return intervals between arrivals, like Table II of the edge-device study."""
    headings = (
        *("arm", "clients", "intervals", "median s", "p95 s", "max s"),
        *(
            "over 2 s",
            "over 5 s",
            "down non-zero",
            "down zero",
            "up non-zero",
            "up zero",
            "both zero",
            "breaks",
        ),
    )
    return Table(
        headings,
        [
            (
                *(arm_title(row.arm), str(row.clients), str(row.intervals.intervals)),
                *(number(row.intervals.median_s), number(row.intervals.p95_s), number(row.intervals.max_s)),
                *(number(row.intervals.over_2s_rate), number(row.intervals.over_5s_rate)),
                *(number(row.down_kbps.nonzero_rate), number(row.down_kbps.zero_rate)),
                *(number(row.up_kbps.nonzero_rate), number(row.up_kbps.zero_rate)),
                *(number(row.both_zero_rate), number(row.course.break_share)),
            )
            for row in rows
        ],
    )


def _cell(figure: Figure, summary: SummaryRow, descriptive: DescriptiveRow) -> str:
    """Return the text of a figure: counts as whole numbers, others by `number`."""
    if figure.cell is not None:
        return figure.cell(summary, descriptive)
    value = figure.value(summary, descriptive)
    return str(round(value)) if value is not None and figure.unit in COUNTED else number(value)


def _level(level: LevelRow) -> tuple[str, ...]:
    return (
        str(level.seconds),
        *(number(value) for value in (level.mean, level.p50, level.p95, level.min, level.max)),
        *(number(level.missing_rate), number(level.zero_rate)),
    )
