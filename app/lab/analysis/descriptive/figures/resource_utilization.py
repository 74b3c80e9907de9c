"""An arm's figures of resource utilization: CPU, memory, bytes and segments on the wire."""

from __future__ import annotations

from app.core.messages import Message
from app.lab.analysis.descriptive.figures.figure import Characteristic, Figure, edge_equation, measurement

MIB = 1024 * 1024

_USE = Characteristic.RESOURCE_UTILIZATION

RESOURCE_UTILIZATION: tuple[Figure, ...] = (
    Figure(
        "cpu_per_delivery_us",
        _USE,
        "us",
        measurement(3),
        lambda s, _: s.cpu_per_delivery_us,
    ),
    Figure(
        "cpu_delta_points",
        _USE,
        "points",
        Message("source.sse.unit"),
        lambda s, _: s.delta_points,
    ),
    Figure(
        "rss_mib",
        _USE,
        "MiB",
        "psutil",
        lambda _, f: None if f.rss_bytes is None else f.rss_bytes / MIB,
    ),
    Figure(
        "wire_bytes_per_notification",
        _USE,
        "bytes",
        measurement(3),
        lambda s, _: s.split.wire_bytes_per_notification if s.split else None,
    ),
    Figure(
        "segments_per_notification",
        _USE,
        "segments",
        measurement(3),
        lambda s, _: s.split.segments_per_notification if s.split else None,
    ),
    Figure(
        "cpu_process_percent_mean",
        _USE,
        "%",
        edge_equation(4),
        lambda _, f: f.course.cpu_process_percent.mean,
    ),
    Figure(
        "cpu_kernel_percent_mean",
        _USE,
        "%",
        edge_equation(5),
        lambda _, f: f.course.cpu_kernel_percent.mean,
    ),
    Figure(
        "memory_kib_per_connection",
        _USE,
        "KiB",
        measurement(6),
        lambda _, f: f.memory.kib,
        lambda _, f: f.memory.words,
    ),
)
