"""All figures of an arm with unit, formula and source, grouped by the characteristics of ISO/IEC 25023.

The groups have the standard's names, without its codes: time behaviour, resource utilization, capacity and reliability.
The library study placed reliability under performance efficiency, but it is a characteristic of its own. A figure that the
run did not measure is `None`.
"""

from __future__ import annotations

from app.lab.analysis.descriptive.figures.figure import Characteristic, Figure
from app.lab.analysis.descriptive.figures.reliability import RELIABILITY
from app.lab.analysis.descriptive.figures.resource_utilization import RESOURCE_UTILIZATION
from app.lab.analysis.descriptive.figures.time_behaviour import TIME_BEHAVIOUR

__all__ = ["COUNTED", "FIGURES", "Characteristic", "Figure", "figures_of"]

COUNTED = ("clients", "deliveries", "arrivals", "notifications", "connections")
"""Units of figures that are whole numbers."""

_CAPACITY, _INSTRUMENT = Characteristic.CAPACITY, Characteristic.INSTRUMENT
_EDGE_DEVICE = "edge-device study"

CAPACITY: tuple[Figure, ...] = (
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
        "up_kbps_mean",
        _CAPACITY,
        "payload sent per client",
        "kbit/s",
        "8 * bytes / 1000, per second",
        f"{_EDGE_DEVICE}, eq. 2",
        lambda _, f: f.up_kbps.mean,
    ),
)

INSTRUMENT: tuple[Figure, ...] = (
    Figure(
        "clock_bound_ms_max",
        _INSTRUMENT,
        "clock's bound, widest",
        "ms",
        "half the polygon's width + quantum",
        "measurement, section 1",
        lambda _, f: f.instrument.clock_bound_ms_max,
    ),
    Figure(
        "source_lag_ms_p99_max",
        _INSTRUMENT,
        "source late, worst p99",
        "ms",
        "sent - due",
        "measurement, section 2",
        lambda _, f: f.instrument.source_lag_ms_p99_max,
    ),
    Figure(
        "client_loop_lag_ms_p99_max",
        _INSTRUMENT,
        "clients' loop late, worst p99",
        "ms",
        "a kernel timer's tick to its reading",
        "measurement, section 2",
        lambda _, f: f.instrument.client_loop_lag_ms_p99_max,
    ),
)
"""Errors of the instrument: a reader needs them to judge the other figures."""

FIGURES: tuple[Figure, ...] = (
    *TIME_BEHAVIOUR,
    *RESOURCE_UTILIZATION,
    *CAPACITY,
    *RELIABILITY,
    *INSTRUMENT,
)


def figures_of(characteristic: Characteristic) -> tuple[Figure, ...]:
    """Return the figures of one characteristic, in the order in which they are shown."""
    return tuple(each for each in FIGURES if each.characteristic is characteristic)
