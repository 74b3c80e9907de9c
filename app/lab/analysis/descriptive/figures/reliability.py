"""An arm's figures of reliability: loss, order, gaps, broken connections and recovery."""

from __future__ import annotations

from app.core.messages import Message
from app.lab.analysis.descriptive.figures.figure import Characteristic, Figure, edge_table, measurement

_RELIABILITY = Characteristic.RELIABILITY

RELIABILITY: tuple[Figure, ...] = (
    Figure(
        "lost",
        _RELIABILITY,
        "deliveries",
        measurement(6),
        lambda s, _: float(s.lost),
    ),
    Figure(
        "late",
        _RELIABILITY,
        "deliveries",
        measurement(6),
        lambda s, _: float(s.late),
    ),
    Figure(
        "duplicates",
        _RELIABILITY,
        "arrivals",
        measurement(6),
        lambda s, _: float(s.duplicates),
    ),
    Figure(
        "out_of_order",
        _RELIABILITY,
        "arrivals",
        "RFC 4737, 3.3",
        lambda s, _: float(s.out_of_order),
    ),
    Figure(
        "missing_share",
        _RELIABILITY,
        "share",
        edge_table("I"),
        lambda _, f: f.arrivals.missing_share,
    ),
    Figure(
        "gap_over_2s_share",
        _RELIABILITY,
        "share",
        edge_table("II"),
        lambda _, f: f.arrivals.gap_over_2s_share,
    ),
    Figure(
        "gap_over_5s_share",
        _RELIABILITY,
        "share",
        edge_table("II"),
        lambda _, f: f.arrivals.gap_over_5s_share,
    ),
    Figure(
        "interval_ms_max",
        _RELIABILITY,
        "ms",
        edge_table("II"),
        lambda _, f: f.arrivals.interval_ms_max,
    ),
    Figure(
        "replayed",
        _RELIABILITY,
        "deliveries",
        measurement(6),
        lambda _, f: float(f.replayed),
    ),
    Figure(
        "breaks",
        _RELIABILITY,
        "connections",
        Message("source.edge_device"),
        lambda _, f: float(f.course.breaks),
    ),
    Figure(
        "recovery_ms_p50",
        _RELIABILITY,
        "ms",
        measurement(6),
        lambda _, f: f.course.recovery_ms_p50,
    ),
    Figure(
        "recovery_ms_max",
        _RELIABILITY,
        "ms",
        measurement(6),
        lambda _, f: f.course.recovery_ms_max,
    ),
)
