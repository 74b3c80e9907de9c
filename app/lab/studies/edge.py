"""The edge-device study's Tables I and II and its latency, with the run's figures in the same rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from app.lab.analysis.analyse import Analysis
from app.lab.analysis.metrics.telemetry import LevelRow
from app.lab.studies.published import study_of
from app.lab.studies.tables import (
    ArmFigures,
    StudyRow,
    StudyTable,
    StudyTables,
    Values,
    headings,
    smallest_and_largest,
)

STUDY = "orangepi-webrtc-websocket"

COLUMNS = ("webrtc", "websocket")
TITLES = ("WebRTC", "WebSocket")

LEVELS: tuple[tuple[str, str, str, Callable[[ArmFigures], LevelRow]], ...] = (
    ("cpu_proc_pct", "CPU of the process", "%", lambda cell: cell[1].course.cpu_process_percent),
    ("cpu_sys_pct", "machine in the kernel", "%", lambda cell: cell[1].course.cpu_kernel_percent),
    ("down_kbps", "traffic down", "kbit/s", lambda cell: cell[1].down_kbps),
    ("jitter_ms", "jitter", "ms", lambda cell: cell[1].jitter_ms),
    ("up_kbps", "traffic up", "kbit/s", lambda cell: cell[1].up_kbps),
)
"""The columns of its Table I: name in the data, title, unit, and the run's figure."""

STATISTICS: tuple[tuple[str, str, Callable[[LevelRow], float | None]], ...] = (
    ("mean", "mean", lambda level: level.mean),
    ("p50", "p50", lambda level: level.p50),
    ("p95", "p95", lambda level: level.p95),
    ("min", "min", lambda level: level.min),
    ("max", "max", lambda level: level.max),
    ("missing_rate", "missing rate", lambda level: level.missing_rate),
)


def _known(level: LevelRow, rate: float | None) -> float | None:
    """Return the rate, or `None` if all seconds are missing, since missing data is not zero traffic."""
    return None if level.missing_rate == 1 else rate


TABLE_2: tuple[tuple[str, str, str, Callable[[ArmFigures], float | None]], ...] = (
    (
        "up_kbps_zero_rate",
        "up, zero rate",
        "share",
        lambda cell: _known(cell[1].up_kbps, cell[1].up_kbps.zero_rate),
    ),
    (
        "up_kbps_nonzero_rate",
        "up, non-zero rate",
        "share",
        lambda cell: _known(cell[1].up_kbps, cell[1].up_kbps.nonzero_rate),
    ),
    (
        "down_kbps_zero_rate",
        "down, zero rate",
        "share",
        lambda cell: _known(cell[1].down_kbps, cell[1].down_kbps.zero_rate),
    ),
    (
        "down_kbps_nonzero_rate",
        "down, non-zero rate",
        "share",
        lambda cell: _known(cell[1].down_kbps, cell[1].down_kbps.nonzero_rate),
    ),
    ("both_zero_rate", "both ways zero", "share", lambda cell: cell[1].both_zero_rate),
    ("median_interval_s", "interval, median", "s", lambda cell: cell[1].intervals.median_s),
    ("p95_interval_s", "interval, p95", "s", lambda cell: cell[1].intervals.p95_s),
    ("max_interval_s", "interval, longest", "s", lambda cell: cell[1].intervals.max_s),
    ("gaps_gt_2s_rate", "intervals over 2 s", "share", lambda cell: cell[1].intervals.over_2s_rate),
    ("gaps_gt_5s_rate", "intervals over 5 s", "share", lambda cell: cell[1].intervals.over_5s_rate),
    ("approx_dropout_rate", "dropout rate", "share", lambda cell: cell[1].course.break_share),
    ("rtt_timeout_rate_gt_10s", "round trips over 10 s", "share", lambda _: None),
    ("rtt_nonnull", "round trips answered", "probes", lambda _: None),
)

LEVELS_NOTE = (
    "Per second. Levels are of the seconds that have a value; the missing rate is of all. The run's CPU is the server's "
    "process tree, in percent of all cores; the kernel's is the whole machine's."
)

INTERVALS_NOTE = (
    "Intervals between arrivals at one client, nothing subtracted. The run's dropout is connections that broke over clients "
    "times trials. No probes go through the transport, so that they cannot load it: the clock's channel has its own connection."
)

DIFFERENCES = (
    "Its latency is a turn of a conversation with a hosted voice service over the internet; here a notification goes one "
    "way, from when it was due.",
    "Its WebSocket carries raw sound: 384 kbit/s is 24 kHz of 16 bits, and all its values but the means are multiples of 0.768, "
    "2 ms of that. WebRTC carries Opus. Traffic and CPU tell the codecs apart, not the protocols.",
    "Its CPU is the client's, on four Cortex-A55 cores; here it is the server's, and clients are other processes.",
    "Its WebSocket jitter is 8.38 ms at p50 and p95 alike: a step of whatever stamped, and no distribution.",
    "92 % of WebRTC's traffic and jitter is missing there, and the text reads that as zero traffic, while the zero rate is "
    "0.001. Here a second without arrivals is zero traffic and a blank delay, and the two are counted apart.",
    "Half of its WebSocket round trips timed out, and its dropout rate is 0: the one is a probe's, the other a connection's.",
)


def edge_tables(analysis: Analysis) -> StudyTables:
    """Return its three tables, with the run's figures at the smallest and the largest count of clients."""
    study, columns = study_of(STUDY), smallest_and_largest(analysis)
    measured = headings(analysis, columns)
    setup = study["setup"]
    return StudyTables(
        id=STUDY,
        title=study["title"],
        setup=f"{setup['server']}; {setup['client']}",
        tables=(
            StudyTable("Latency", TITLES, measured, (_latency(study, columns),)),
            StudyTable("Table I", TITLES, measured, tuple(_levels(study, columns)), LEVELS_NOTE),
            StudyTable("Table II", TITLES, measured, tuple(_table_2(study, columns)), INTERVALS_NOTE),
        ),
        differences=DIFFERENCES,
    )


def _latency(study: dict[str, Any], columns: list[ArmFigures]) -> StudyRow:
    return StudyRow(
        "typical latency; delay, median",
        "ms",
        tuple(study["latency_ms"][each]["typical"] for each in COLUMNS),
        tuple(row.delay_ms_p50 for row, _ in columns),
    )


def _levels(study: dict[str, Any], columns: list[ArmFigures]) -> list[StudyRow]:
    table = study["table_1"]
    return [
        StudyRow(
            f"{title}, {words}",
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
            title,
            unit,
            tuple(table[name].get(each) for each in COLUMNS),
            tuple(figure(cell) for cell in columns),
        )
        for name, title, unit, figure in TABLE_2
    ]
