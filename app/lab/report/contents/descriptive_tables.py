"""A report's descriptive tables: figures by characteristic (ISO/IEC 25023), levels per second, arrival intervals."""

from __future__ import annotations

from collections.abc import Sequence

from app.core.messages import Message, Text
from app.lab.analysis.analyse import Analysis
from app.lab.analysis.descriptive.arm_rows import DescriptiveRow
from app.lab.analysis.descriptive.figures.catalogue import COUNTED, Characteristic, Figure, figures_of
from app.lab.analysis.metrics.telemetry import LevelRow
from app.lab.analysis.summary import SummaryRow
from app.lab.analysis.words import arm_title, at_clients, unit_text
from app.lab.report.document import Table, headings_of

SECONDS_NOTE = Message("note.seconds")


def characteristic_tables(
    analysis: Analysis, rows: Sequence[DescriptiveRow]
) -> list[tuple[Characteristic, Table]]:
    """Return pairs (characteristic, table): a row per figure, a column per arm and count of clients.

    `rows`: from `descriptive_rows`, one for each row of `analysis.summary`.
    """
    pairs = list(zip(analysis.summary, rows, strict=True))
    columns = (at_clients(row.arm, row.clients, analysis.noun) for row in analysis.summary)
    headings = (*headings_of("figure", "unit"), *columns)
    return [
        (
            characteristic,
            Table(
                headings,
                [
                    (
                        *(figure.title, unit_text(figure.unit)),
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
    """Return a table with the formula and the source of each figure."""
    rows = [
        (figure.title, unit_text(figure.unit), figure.formula, figure.source)
        for characteristic in Characteristic
        for figure in figures_of(characteristic)
    ]
    return Table(headings_of("figure", "unit", "formula", "source"), rows, frozenset({0, 1, 2, 3}))


def levels_table(rows: Sequence[DescriptiveRow]) -> Table:
    """Return a table of CPU use, bit rates, delay and jitter per second, like Table I of the edge-device study.

    It has a row per arm, count of clients and quantity.
    """
    headings: tuple[Text, ...] = (
        *headings_of("arm", "clients", "per_second", "seconds", "mean"),
        "p50",
        "p95",
        *headings_of("min", "max", "missing_rate", "zero_rate"),
    )
    return Table(
        headings,
        [
            (arm_title(row.arm), row.clients, name, *_level(level))
            for row in rows
            for name, level in (
                (Message("level.cpu"), row.course.cpu_process_percent),
                (Message("level.kernel"), row.course.cpu_kernel_percent),
                (Message("level.down"), row.down_kbps),
                (Message("level.up"), row.up_kbps),
                (Message("metric.delay.unit"), row.delay_ms),
                (Message("metric.jitter.unit"), row.jitter_ms),
            )
        ],
        frozenset({0, 2}),
    )


def intervals_table(rows: Sequence[DescriptiveRow]) -> Table:
    """Return a table of intervals between arrivals, like Table II of the edge-device study.

    It has a row per arm and count of clients, with the shares of seconds without traffic and of broken connections.
    """
    headings = headings_of(
        *("arm", "clients", "intervals", "median_s", "p95_s", "max_s", "over_2_s", "over_5_s"),
        *("down_non_zero", "down_zero", "up_non_zero", "up_zero", "both_zero", "breaks"),
    )
    return Table(
        headings,
        [
            (
                *(arm_title(row.arm), row.clients, row.intervals.intervals),
                *(row.intervals.median_s, row.intervals.p95_s, row.intervals.max_s),
                *(row.intervals.over_2s_rate, row.intervals.over_5s_rate),
                *(row.down_kbps.nonzero_rate, row.down_kbps.zero_rate),
                *(row.up_kbps.nonzero_rate, row.up_kbps.zero_rate),
                *(row.both_zero_rate, row.course.break_share),
            )
            for row in rows
        ],
    )


def _cell(figure: Figure, summary: SummaryRow, descriptive: DescriptiveRow) -> Text:
    """Return the cell of a figure for an arm at a count of clients; figures that count things are whole numbers."""
    if figure.cell is not None:
        return figure.cell(summary, descriptive)
    value = figure.value(summary, descriptive)
    return round(value) if value is not None and figure.unit in COUNTED else value


def _level(level: LevelRow) -> tuple[Text, ...]:
    return (
        *(level.seconds, level.mean, level.p50, level.p95, level.min, level.max),
        *(level.missing_rate, level.zero_rate),
    )
