"""Figures of reliability: loss, order, gaps, broken connections and recovery."""

from __future__ import annotations

from app.lab.analysis.descriptive.figures.figure import Characteristic, Figure

_RELIABILITY = Characteristic.RELIABILITY
_RECOVERY = "measurement, section 6"
_EDGE_DEVICE = "edge-device study"

RELIABILITY: tuple[Figure, ...] = (
    Figure(
        "lost",
        _RELIABILITY,
        "lost",
        "deliveries",
        "expected - delivered",
        "measurement, section 6",
        lambda s, _: float(s.lost),
    ),
    Figure(
        "late",
        _RELIABILITY,
        "late",
        "deliveries",
        "after the drain limit",
        "measurement, section 6",
        lambda s, _: float(s.late),
    ),
    Figure(
        "duplicates",
        _RELIABILITY,
        "duplicates",
        "arrivals",
        "beyond the first",
        "measurement, section 6",
        lambda s, _: float(s.duplicates),
    ),
    Figure(
        "out_of_order",
        _RELIABILITY,
        "out of order",
        "arrivals",
        "number below one that came before",
        "RFC 4737, 3.3",
        lambda s, _: float(s.out_of_order),
    ),
    Figure(
        "missing_share",
        _RELIABILITY,
        "missing",
        "share",
        "1 - samples / expected",
        "edge-device study, Table I",
        lambda _, f: f.arrivals.missing_share,
    ),
    Figure(
        "gap_over_2s_share",
        _RELIABILITY,
        "gaps over 2 s",
        "share",
        "interval - period > 2 s",
        "edge-device study, Table II",
        lambda _, f: f.arrivals.gap_over_2s_share,
    ),
    Figure(
        "gap_over_5s_share",
        _RELIABILITY,
        "gaps over 5 s",
        "share",
        "interval - period > 5 s",
        "edge-device study, Table II",
        lambda _, f: f.arrivals.gap_over_5s_share,
    ),
    Figure(
        "interval_ms_max",
        _RELIABILITY,
        "longest interval",
        "ms",
        "between two arrivals",
        "edge-device study, Table II",
        lambda _, f: f.arrivals.interval_ms_max,
    ),
    Figure(
        "replayed",
        _RELIABILITY,
        "replayed",
        "deliveries",
        "came from history after a break; void trials too",
        "measurement, section 6",
        lambda _, f: float(f.replayed),
    ),
    Figure(
        "breaks",
        _RELIABILITY,
        "broken connections",
        "connections",
        "lost after they stood; void trials too",
        _EDGE_DEVICE,
        lambda _, f: float(f.course.breaks),
    ),
    Figure(
        "recovery_ms_p50",
        _RELIABILITY,
        "recovery, median",
        "ms",
        "first arrival behind a break - last before",
        _RECOVERY,
        lambda _, f: f.course.recovery_ms_p50,
    ),
    Figure(
        "recovery_ms_max",
        _RELIABILITY,
        "recovery, longest",
        "ms",
        "first arrival behind a break - last before",
        _RECOVERY,
        lambda _, f: f.course.recovery_ms_max,
    ),
)
