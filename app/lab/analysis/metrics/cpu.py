"""Net CPU of the server's process tree in a trial, and CPU per delivery.

`measurement.md` section 3: C_net = CPU - idle rate * T. The idle rate comes from the idle window of the same block and
count of clients, in which the clients are connected and nothing is sent. Without one there is no net figure: it is
`None`, never the gross figure.

The divisor is the number of deliveries that were due in the CPU window, warm-up included where the window holds it,
because they used CPU too. The window closes when everything has arrived, or shortly after the last due time: waiting for
missing deliveries uses no CPU and would dilute the figure.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.core.delivery import Outcome
from app.core.trial import CpuUse, TrialRecord
from app.lab.analysis.columns import columns_of


@dataclass(frozen=True, slots=True)
class CpuFigures:
    """CPU figures of a trial; all are `None` when CPU was not sampled."""

    user_s: float | None = None
    """User time, counted in ticks of 10 ms: for display, not for comparison."""
    system_s: float | None = None
    total_s: float | None = None
    """CPU time; by the processes' nanosecond clocks where `is_ns`."""
    core_percent: float | None = None
    """CPU use in percent of one core, idle use included."""
    per_delivery_us: float | None = None
    """Net CPU microseconds per delivery of the CPU window."""
    delta_points: float | None = None
    """Net use in percent of the whole machine: the published study's unit, but by process clocks instead of a
    system-wide meter."""
    cpu_percent_points: float | None = None
    """The published study's meter: the machine's `cpu_percent` over the trial minus that over the idle window of the
    block; `None` without an idle window. It includes everything that runs on the machine and is for comparison only."""
    idle_core_percent: float | None = None
    """The idle rate that was subtracted, in percent of one core."""
    voluntary_switches_per_delivery: float | None = None
    involuntary_switches_per_delivery: float | None = None
    rss_bytes: int | None = None
    is_ns: bool | None = None
    wall_s: float | None = None
    """Length of the CPU window."""
    cores: int | None = None
    deliveries: int | None = None
    """The divisor of `per_delivery_us`: all deliveries that arrived and were due in the CPU window."""


def idle_rate(idle: CpuUse | None) -> float | None:
    """Return the CPU seconds per second of an idle window; `None` without one."""
    return idle.total_s / idle.wall_s if idle is not None and idle.wall_s > 0 else None


def net_s(use: CpuUse | None, idle: CpuUse | None) -> float | None:
    """Return the CPU seconds above the idle rate, negative when the trial used less; `None` without both windows."""
    rate = idle_rate(idle)
    return None if use is None or rate is None else use.total_s - rate * use.wall_s


def deliveries_in_window(record: TrialRecord) -> int:
    """Count the arrivals that were due while CPU time was counted, warm-up and duplicates included."""
    columns = columns_of(record.deliveries)
    is_inside = (record.started_us <= columns.due_us) & (columns.due_us <= record.ended_us)
    return int((is_inside & ~columns.has_outcome(Outcome.LOST)).sum())


def per_delivery_us(use: CpuUse | None, idle: CpuUse | None, delivered: int) -> float | None:
    """Return the server's net CPU microseconds per delivery; `None` without CPU use, idle window or deliveries."""
    if use is None or use.wall_s <= 0 or not delivered:
        return None
    net = net_s(use, idle)
    return None if net is None else 1e6 * net / delivered


def cpu_figures(record: TrialRecord, idle: CpuUse | None) -> CpuFigures:
    """Compute the figures of a trial. `idle`: the CPU use of the idle window of its block."""
    use, delivered = record.cpu, deliveries_in_window(record)
    if use is None or use.wall_s <= 0:
        return CpuFigures()
    net, rate = net_s(use, idle), idle_rate(idle)
    # The reading at the edge before covers only the moments of connecting, so it is no baseline.
    idle_percent, percent = idle.cpu_percent_after if idle else None, use.cpu_percent_after
    return CpuFigures(
        user_s=use.user_s,
        system_s=use.system_s,
        total_s=use.total_s,
        core_percent=100 * use.total_s / use.wall_s,
        per_delivery_us=per_delivery_us(use, idle, delivered),
        delta_points=100 * net / (use.wall_s * use.cores) if net is not None else None,
        cpu_percent_points=percent - idle_percent
        if percent is not None and idle_percent is not None
        else None,
        idle_core_percent=100 * rate if rate is not None else None,
        voluntary_switches_per_delivery=use.voluntary_switches / delivered if delivered else None,
        involuntary_switches_per_delivery=use.involuntary_switches / delivered if delivered else None,
        rss_bytes=use.rss_bytes,
        is_ns=use.total_is_ns,
        wall_s=use.wall_s,
        cores=use.cores,
        deliveries=delivered,
    )
