"""All figures of an arm with unit, formula and source, grouped by the characteristics of ISO/IEC 25023.

The groups have the standard's names, without its codes: time behaviour, resource utilization, capacity and reliability.
The library study placed reliability under performance efficiency, but it is a characteristic of its own. A figure that the
run did not measure is `None`.
"""

from __future__ import annotations

from app.lab.analysis.descriptive.course_figures import COURSE_FIGURES
from app.lab.analysis.descriptive.figure_type import Characteristic, Figure

__all__ = ["COUNTED", "FIGURES", "Characteristic", "Figure", "of"]

COUNTED = ("clients", "deliveries", "arrivals", "notifications", "connections")
"""Units of figures that are whole numbers."""

MIB = 1024 * 1024

_TIME, _USE = Characteristic.TIME_BEHAVIOUR, Characteristic.RESOURCE_UTILIZATION
_CAPACITY, _RELIABILITY = Characteristic.CAPACITY, Characteristic.RELIABILITY

FIGURES: tuple[Figure, ...] = (
    Figure(
        "delay_ms_mean",
        _TIME,
        "delay, mean",
        "ms",
        "mean of clients' means, due to read",
        "SSE study",
        lambda s, _: s.delay_ms_mean,
    ),
    Figure(
        "delay_ms_p50",
        _TIME,
        "delay, median",
        "ms",
        "pooled median, due to read",
        "measurement, section 6",
        lambda s, _: s.delay_ms_p50,
    ),
    Figure(
        "delay_ms_p95",
        _TIME,
        "delay, p95",
        "ms",
        "pooled; needs 100 broadcasts",
        "measurement, section 4",
        lambda s, _: s.delay_ms_p95,
    ),
    Figure(
        "display_ms_p50",
        _TIME,
        "display delay, median",
        "ms",
        "paint on a visible page - receipt, phone's clock",
        "measurement, section 6",
        lambda _, f: f.display_ms_p50,
    ),
    Figure(
        "display_ms_p95",
        _TIME,
        "display delay, p95",
        "ms",
        "pooled over trials; needs 100 broadcasts",
        "measurement, section 6",
        lambda _, f: f.display_ms_p95,
    ),
    Figure(
        "jitter_ms",
        _TIME,
        "jitter",
        "ms",
        "J += (|D| - J) / 16, at the trial's end",
        "RFC 3550, 6.4.1; edge-device study, eq. 1",
        lambda s, _: s.jitter_ms,
    ),
    Figure(
        "spread_ms_p50",
        _TIME,
        "server spread",
        "ms",
        "last client's write - first's",
        "measurement, section 2",
        lambda _, f: f.spread_ms_p50,
    ),
    Figure(
        "effect_us_per_place",
        _TIME,
        "each place further back",
        "us",
        "least squares within notifications",
        "measurement, section 2",
        lambda _, f: f.effect_us_per_place,
    ),
    Figure(
        "interval_ms_p50",
        _TIME,
        "interval between arrivals",
        "ms",
        "median, one client's clock",
        "edge-device study, Table II",
        lambda _, f: f.arrivals.interval_ms_p50,
    ),
    Figure(
        "spike_share",
        _TIME,
        "delays over 500 ms",
        "share",
        "deliveries over samples",
        "Redis study",
        lambda _, f: f.arrivals.spike_share,
    ),
    Figure(
        "spike_events",
        _TIME,
        "such events",
        "notifications",
        "distinct notifications with one",
        "Redis study, corrected",
        lambda _, f: float(f.arrivals.spike_events),
    ),
    Figure(
        "cpu_per_delivery_us",
        _USE,
        "CPU per notification",
        "us",
        "(CPU - idle rate * T) / deliveries",
        "measurement, section 3",
        lambda s, _: s.cpu_per_delivery_us,
    ),
    Figure(
        "cpu_delta_points",
        _USE,
        "CPU over idle",
        "points",
        "percent of the machine, process clocks",
        "SSE study's unit",
        lambda s, _: s.delta_points,
    ),
    Figure(
        "rss_mib",
        _USE,
        "server memory",
        "MiB",
        "resident, process tree, trial's end",
        "psutil",
        lambda _, f: None if f.rss_bytes is None else f.rss_bytes / MIB,
    ),
    Figure(
        "wire_bytes_per_notification",
        _USE,
        "IP bytes per notification",
        "bytes",
        "TCP_INFO, headers included",
        "measurement, section 3",
        lambda s, _: s.split.wire_bytes_per_notification if s.split else None,
    ),
    Figure(
        "segments_per_notification",
        _USE,
        "segments per notification",
        "segments",
        "TCP_INFO, sent by the server",
        "measurement, section 3",
        lambda s, _: s.split.segments_per_notification if s.split else None,
    ),
    Figure(
        "clients",
        _CAPACITY,
        "clients connected",
        "clients",
        "as planned",
        "library study",
        lambda s, _: float(s.clients),
    ),
    Figure(
        "down_kbps_mean",
        _CAPACITY,
        "payload received per client",
        "kbit/s",
        "8 * bytes / 1000, per second",
        "edge-device study, eq. 3",
        lambda _, f: f.down_kbps.mean,
    ),
    Figure(
        "reach_share",
        _CAPACITY,
        "reach",
        "share",
        "delivered / expected",
        "measurement, section 6",
        lambda s, _: s.delivered / s.expected if s.expected else None,
    ),
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
    *COURSE_FIGURES,
)


def of(characteristic: Characteristic) -> tuple[Figure, ...]:
    """Return the figures of one characteristic, in the order in which they are shown."""
    return tuple(each for each in FIGURES if each.characteristic is characteristic)
