"""All figures of an arm with unit, formula and source, grouped by the characteristics of ISO/IEC 25023.

The groups have the standard's names, without its codes: time behaviour, resource utilization, capacity and reliability.
The library study placed reliability under performance efficiency, but it is a characteristic of its own. A figure that
the run did not measure is `None`.
"""

from __future__ import annotations

from app.core.messages import Message
from app.lab.analysis.descriptive.figures.figure import Characteristic, Figure, edge_equation, measurement
from app.lab.analysis.descriptive.figures.reliability import RELIABILITY
from app.lab.analysis.descriptive.figures.resource_utilization import RESOURCE_UTILIZATION
from app.lab.analysis.descriptive.figures.time_behaviour import TIME_BEHAVIOUR

__all__ = ["COUNTED", "FIGURES", "Characteristic", "Figure", "figures_of"]

COUNTED = ("clients", "deliveries", "arrivals", "notifications", "connections")
"""Units of counts: figures with such a unit are whole numbers."""

_CAPACITY, _INSTRUMENT = Characteristic.CAPACITY, Characteristic.INSTRUMENT

CAPACITY: tuple[Figure, ...] = (
    Figure(
        "clients",
        _CAPACITY,
        "clients",
        Message("source.library"),
        lambda s, _: float(s.clients),
    ),
    Figure(
        "down_kbps_mean",
        _CAPACITY,
        "kbit/s",
        edge_equation(3),
        lambda _, f: f.down_kbps.mean,
    ),
    Figure(
        "reach_share",
        _CAPACITY,
        "share",
        measurement(6),
        lambda s, _: s.delivered / s.expected if s.expected else None,
    ),
    Figure(
        "up_kbps_mean",
        _CAPACITY,
        "kbit/s",
        edge_equation(2),
        lambda _, f: f.up_kbps.mean,
    ),
)

INSTRUMENT: tuple[Figure, ...] = (
    Figure(
        "clock_bound_ms_max",
        _INSTRUMENT,
        "ms",
        measurement(1),
        lambda _, f: f.instrument.clock_bound_ms_max,
    ),
    Figure(
        "source_lag_ms_p99_max",
        _INSTRUMENT,
        "ms",
        measurement(2),
        lambda _, f: f.instrument.source_lag_ms_p99_max,
    ),
    Figure(
        "client_loop_lag_ms_p99_max",
        _INSTRUMENT,
        "ms",
        measurement(2),
        lambda _, f: f.instrument.client_loop_lag_ms_p99_max,
    ),
)
"""Figures of the measurement's own errors, which a reader needs to judge the other figures."""

FIGURES: tuple[Figure, ...] = (
    *TIME_BEHAVIOUR,
    *RESOURCE_UTILIZATION,
    *CAPACITY,
    *RELIABILITY,
    *INSTRUMENT,
)


def figures_of(characteristic: Characteristic) -> tuple[Figure, ...]:
    """Return the figures of one characteristic, in the order in which reports show them."""
    return tuple(each for each in FIGURES if each.characteristic is characteristic)
