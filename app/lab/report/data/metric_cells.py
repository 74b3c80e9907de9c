"""Columns that `trials.csv` and `clients.csv` share: figures of a trial, or of one of its clients."""

from __future__ import annotations

from app.lab.analysis.metrics.arrivals import ArrivalFigures
from app.lab.analysis.metrics.trial_metrics import TrialMetrics

Cell = str | int | float | None


def metric_cells(metrics: TrialMetrics) -> dict[str, Cell]:
    """Return counts, delays, jitter and the clock's error bound by column."""
    return {
        "expected": metrics.expected,
        "delivered": metrics.delivered,
        "lost": metrics.lost,
        "late": metrics.late,
        "replayed": metrics.replayed,
        "duplicates": metrics.duplicates,
        "out_of_order": metrics.out_of_order,
        "samples": metrics.samples,
        "delay_ms_mean": metrics.delay_ms.mean,
        "delay_ms_p50": metrics.delay_ms.p50,
        "delay_ms_p95": metrics.delay_ms.p95,
        "delay_ms_p99": metrics.delay_ms.p99,
        "delay_ms_max": metrics.delay_ms.max,
        "kernel_delay_ms_p50": metrics.kernel_delay_ms.p50,
        "client_share_ms_p50": metrics.client_share_ms_p50,
        "jitter_ms": metrics.jitter_ms,
        "clock_bound_ms": metrics.clock_bound_ms,
    }


def arrival_cells(arrivals: ArrivalFigures) -> dict[str, Cell]:
    """Return intervals, gaps, spikes and the share of missing samples by column."""
    return {
        "missing_share": arrivals.missing_share,
        "interval_ms_p50": arrivals.interval_ms_p50,
        "interval_ms_p95": arrivals.interval_ms_p95,
        "interval_ms_max": arrivals.interval_ms_max,
        "gaps_over_2s": arrivals.gaps_over_2s,
        "gaps_over_5s": arrivals.gaps_over_5s,
        "spikes_over_500ms": arrivals.spikes_over_500ms,
    }
