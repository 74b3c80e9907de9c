"""Figures of resource utilization: CPU, memory, bytes and segments on the wire."""

from __future__ import annotations

from app.lab.analysis.descriptive.figures.figure import Characteristic, Figure

MIB = 1024 * 1024

_USE = Characteristic.RESOURCE_UTILIZATION
_EDGE_DEVICE = "edge-device study"

RESOURCE_UTILIZATION: tuple[Figure, ...] = (
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
        "cpu_process_percent_mean",
        _USE,
        "CPU of the server, per second",
        "%",
        "100 * process seconds / (wall * cores), mean",
        f"{_EDGE_DEVICE}, eq. 4",
        lambda _, f: f.course.cpu_process_percent.mean,
    ),
    Figure(
        "cpu_kernel_percent_mean",
        _USE,
        "machine in the kernel, per second",
        "%",
        "100 * system, irq, softirq / (wall * cores), mean",
        f"{_EDGE_DEVICE}, eq. 5",
        lambda _, f: f.course.cpu_kernel_percent.mean,
    ),
    Figure(
        "memory_kib_per_connection",
        _USE,
        "memory per connection",
        "KiB",
        "slope of resident memory over clients; too small where a server kept what it had used",
        "measurement, section 6",
        lambda _, f: f.memory.kib,
        lambda _, f: f.memory.words,
    ),
)
