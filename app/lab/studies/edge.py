"""The edge-device study's Tables I and II and its latency, with the run's figures in the same rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from app.core.messages import Message, Text
from app.lab.analysis.analyse import Analysis
from app.lab.analysis.metrics.telemetry import LevelRow
from app.lab.studies.published import study_of
from app.lab.studies.tables import (
    ArmFigures,
    StudyRow,
    StudyTable,
    StudyTables,
    Values,
    differences,
    headings,
    smallest_and_largest,
)

STUDY = "orangepi-webrtc-websocket"

COLUMNS = ("webrtc", "websocket")
TITLES = ("WebRTC", "WebSocket")

LEVELS: tuple[tuple[str, str, str, Callable[[ArmFigures], LevelRow]], ...] = (
    ("cpu_proc_pct", "cpu", "%", lambda cell: cell[1].course.cpu_process_percent),
    ("cpu_sys_pct", "kernel", "%", lambda cell: cell[1].course.cpu_kernel_percent),
    ("down_kbps", "down", "kbit/s", lambda cell: cell[1].down_kbps),
    ("jitter_ms", "jitter", "ms", lambda cell: cell[1].jitter_ms),
    ("up_kbps", "up", "kbit/s", lambda cell: cell[1].up_kbps),
)
"""The columns of its Table I: name in the data, name in the catalogue of texts, unit, and the run's figure."""

STATISTICS: tuple[tuple[str, Text, Callable[[LevelRow], float | None]], ...] = (
    ("mean", Message("heading.mean"), lambda level: level.mean),
    ("p50", "p50", lambda level: level.p50),
    ("p95", "p95", lambda level: level.p95),
    ("min", Message("heading.min"), lambda level: level.min),
    ("max", Message("heading.max"), lambda level: level.max),
    ("missing_rate", Message("heading.missing_rate"), lambda level: level.missing_rate),
)


def _known(level: LevelRow, rate: float | None) -> float | None:
    """Return the rate, or `None` if all seconds are missing, since missing data is not zero traffic."""
    return None if level.missing_rate == 1 else rate


TABLE_2: tuple[tuple[str, str, str, Callable[[ArmFigures], float | None]], ...] = (
    (
        "up_kbps_zero_rate",
        "up_zero_rate",
        "share",
        lambda cell: _known(cell[1].up_kbps, cell[1].up_kbps.zero_rate),
    ),
    (
        "up_kbps_nonzero_rate",
        "up_non_zero_rate",
        "share",
        lambda cell: _known(cell[1].up_kbps, cell[1].up_kbps.nonzero_rate),
    ),
    (
        "down_kbps_zero_rate",
        "down_zero_rate",
        "share",
        lambda cell: _known(cell[1].down_kbps, cell[1].down_kbps.zero_rate),
    ),
    (
        "down_kbps_nonzero_rate",
        "down_non_zero_rate",
        "share",
        lambda cell: _known(cell[1].down_kbps, cell[1].down_kbps.nonzero_rate),
    ),
    ("both_zero_rate", "both_ways_zero", "share", lambda cell: cell[1].both_zero_rate),
    ("median_interval_s", "interval_median", "s", lambda cell: cell[1].intervals.median_s),
    ("p95_interval_s", "interval_p95", "s", lambda cell: cell[1].intervals.p95_s),
    ("max_interval_s", "interval_longest", "s", lambda cell: cell[1].intervals.max_s),
    ("gaps_gt_2s_rate", "intervals_over_2_s", "share", lambda cell: cell[1].intervals.over_2s_rate),
    ("gaps_gt_5s_rate", "intervals_over_5_s", "share", lambda cell: cell[1].intervals.over_5s_rate),
    ("approx_dropout_rate", "dropout_rate", "share", lambda cell: cell[1].course.break_share),
    ("rtt_timeout_rate_gt_10s", "round_trips_over_10_s", "share", lambda _: None),
    ("rtt_nonnull", "round_trips_answered", "probes", lambda _: None),
)
"""The rows of its Table II: name in the data, name in the catalogue of texts, unit, and the run's figure."""


def edge_tables(analysis: Analysis) -> StudyTables:
    """Return its three tables, with the run's figures at the smallest and the largest count of clients."""
    study, columns = study_of(STUDY), smallest_and_largest(analysis)
    measured = headings(analysis, columns)
    return StudyTables(
        id=STUDY,
        title=study["title"],
        setup=Message("study.edge.setup"),
        tables=(
            StudyTable(Message("study.table.latency"), TITLES, measured, (_latency(study, columns),)),
            StudyTable(
                Message("study.table.table_i"),
                TITLES,
                measured,
                tuple(_levels(study, columns)),
                Message("study.note.levels"),
            ),
            StudyTable(
                Message("study.table.table_ii"),
                TITLES,
                measured,
                tuple(_table_2(study, columns)),
                Message("study.note.intervals"),
            ),
        ),
        differences=differences("edge", 6),
    )


def _latency(study: dict[str, Any], columns: list[ArmFigures]) -> StudyRow:
    return StudyRow(
        Message("study.row.typical_latency"),
        "ms",
        tuple(study["latency_ms"][each]["typical"] for each in COLUMNS),
        tuple(row.delay_ms_p50 for row, _ in columns),
    )


def _levels(study: dict[str, Any], columns: list[ArmFigures]) -> list[StudyRow]:
    table = study["table_1"]
    return [
        StudyRow(
            Message("study.level", {"quantity": Message(f"study.quantity.{title}"), "statistic": words}),
            "share" if name == "missing_rate" else unit,
            _published_level(table, name, column),
            tuple(statistic(level(cell)) for cell in columns),
        )
        for column, title, unit, level in LEVELS
        for name, words, statistic in STATISTICS
    ]


def _published_level(table: dict[str, Any], statistic: str, column: str) -> Values:
    place = table["columns"].index(column)
    return tuple(table[statistic][each][place] for each in COLUMNS)


def _table_2(study: dict[str, Any], columns: list[ArmFigures]) -> list[StudyRow]:
    table = study["table_2"]
    return [
        StudyRow(
            Message(f"study.row.{title}"),
            unit,
            tuple(table[name].get(each) for each in COLUMNS),
            tuple(figure(cell) for cell in columns),
        )
        for name, title, unit, figure in TABLE_2
    ]
