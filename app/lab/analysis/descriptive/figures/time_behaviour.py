"""An arm's figures of time behaviour: delays, display, jitter, intervals, connection set-up."""

from __future__ import annotations

from app.core.messages import Message, clauses
from app.lab.analysis.descriptive.figures.figure import (
    Characteristic,
    Figure,
    edge_equation,
    edge_table,
    measurement,
)

_TIME = Characteristic.TIME_BEHAVIOUR

TIME_BEHAVIOUR: tuple[Figure, ...] = (
    Figure(
        "delay_ms_mean",
        _TIME,
        "ms",
        Message("source.sse"),
        lambda s, _: s.delay_ms_mean,
    ),
    Figure(
        "delay_ms_p50",
        _TIME,
        "ms",
        measurement(6),
        lambda s, _: s.delay_ms_p50,
    ),
    Figure(
        "delay_ms_p95",
        _TIME,
        "ms",
        measurement(4),
        lambda s, _: s.delay_ms_p95,
    ),
    Figure(
        "display_ms_p50",
        _TIME,
        "ms",
        measurement(6),
        lambda _, f: f.display_ms_p50,
    ),
    Figure(
        "display_ms_p95",
        _TIME,
        "ms",
        measurement(6),
        lambda _, f: f.display_ms_p95,
    ),
    Figure(
        "jitter_ms",
        _TIME,
        "ms",
        clauses(["RFC 3550, 6.4.1", edge_equation(1)]),
        lambda s, _: s.jitter_ms,
    ),
    Figure(
        "spread_ms_p50",
        _TIME,
        "ms",
        measurement(2),
        lambda _, f: f.spread_ms_p50,
    ),
    Figure(
        "effect_us_per_place",
        _TIME,
        "us",
        measurement(2),
        lambda _, f: f.effect_us_per_place,
    ),
    Figure(
        "interval_ms_p50",
        _TIME,
        "ms",
        edge_table("II"),
        lambda _, f: f.arrivals.interval_ms_p50,
    ),
    Figure(
        "spike_share",
        _TIME,
        "share",
        Message("source.redis"),
        lambda _, f: f.arrivals.spike_share,
    ),
    Figure(
        "spike_events",
        _TIME,
        "notifications",
        Message("source.redis.corrected"),
        lambda _, f: float(f.arrivals.spike_events),
    ),
    Figure(
        "delay_from_sent_ms_p50",
        _TIME,
        "ms",
        measurement(6),
        lambda _, f: f.delay_from_sent_ms_p50,
    ),
    Figure(
        "network_ms_p50",
        _TIME,
        "ms",
        measurement(6),
        lambda s, _: s.split.network_ms_p50 if s.split else None,
    ),
    Figure(
        "connect_ms_p50",
        _TIME,
        "ms",
        measurement(6),
        lambda _, f: f.course.connect_ms_p50,
    ),
    Figure(
        "first_byte_ms_p50",
        _TIME,
        "ms",
        measurement(6),
        lambda _, f: f.course.first_byte_ms_p50,
    ),
    Figure(
        "setup_ms_p50",
        _TIME,
        "ms",
        clauses([Message("source.library"), Message("source.redis")]),
        lambda _, f: f.course.setup_ms_p50,
    ),
    Figure(
        "setup_ms_p95",
        _TIME,
        "ms",
        measurement(4),
        lambda _, f: f.course.setup_ms_p95,
    ),
)
