"""Regularity of arrivals: counts and shares of gaps, spikes and missing notifications.

gap      the time between two arrivals at one client minus the plan's period. It needs the client's own clock only,
         and no synchronisation. A lost notification makes a gap of one period.
         Source: the edge-device study's Table II (gaps > 2 s, > 5 s), which subtracts nothing.
spike    a delay above 500 ms. Source: the Redis study. Its 920 spikes were at most a handful of independent
         events, so both deliveries and distinct notifications are counted.
missing  an expected notification without a usable sample: lost, replayed, hidden, or stamped by an unknown clock.
         It has no value, which is not the same as 0. Source: the edge-device study's missing rate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.core.plan.scenario import Plan, arm_plan
from app.core.trial import TrialRecord
from app.lab.analysis.columns import Columns, Floats, columns_of, first_of_each
from app.lab.analysis.metrics.trial_metrics import expected_count
from app.lab.analysis.statistics.quantile import known, quantile, quantile_of_ascending

GAP_S_LIMITS = (2.0, 5.0)
SPIKE_MS_MIN = 500.0

_US = 1e6


@dataclass(frozen=True, slots=True)
class ArrivalFigures:
    """The regularity of one trial; a share of `intervals`, `samples` or `expected` is `None` where that count is 0."""

    intervals: int
    """The number of pairs of consecutive arrivals at the same client."""
    interval_ms_p50: float | None
    """Median interval between two arrivals at one client, period included; all clients' intervals are pooled."""
    interval_ms_p95: float | None
    interval_ms_max: float | None
    gaps_over_2s: int
    gaps_over_5s: int
    gap_over_2s_share: float | None
    gap_over_5s_share: float | None
    samples: int
    spikes_over_500ms: int
    """The number of deliveries with a delay above 500 ms."""
    spike_share: float | None
    spike_events: int
    """The number of distinct notifications among the spikes: a broadcast that is late for all clients is one event."""
    expected: int
    missing_share: float | None
    """1 - samples / expected."""


def arrival_figures(record: TrialRecord, plan: Plan, columns: Columns | None = None) -> ArrivalFigures:
    """Compute the figures of one trial without its warm-up. `columns`: those of its deliveries, if already computed."""
    columns = columns_of(record.deliveries) if columns is None else columns
    period_s = 1 / arm_plan(plan, record.spec.arm).rate_hz
    intervals_s = np.sort(intervals_of(columns))
    samples = columns.samples()
    spikes = samples[columns.delay_ms[samples] > SPIKE_MS_MIN]
    expected = expected_count(record, plan)
    two, five = (int((intervals_s - period_s > limit).sum()) for limit in GAP_S_LIMITS)
    return ArrivalFigures(
        intervals=len(intervals_s),
        interval_ms_p50=_ms(quantile_of_ascending(intervals_s, 0.5)),
        interval_ms_p95=_ms(quantile_of_ascending(intervals_s, 0.95)),
        interval_ms_max=_ms(float(intervals_s[-1]) if len(intervals_s) else None),
        gaps_over_2s=two,
        gaps_over_5s=five,
        gap_over_2s_share=share(two, len(intervals_s)),
        gap_over_5s_share=share(five, len(intervals_s)),
        samples=len(samples),
        spikes_over_500ms=len(spikes),
        spike_share=share(len(spikes), len(samples)),
        spike_events=len(np.unique(columns.seq[spikes])),
        expected=expected,
        missing_share=share(expected - len(samples), expected),
    )


def pooled(figures: Sequence[ArrivalFigures]) -> ArrivalFigures:
    """Pool the figures of several trials.

    Counts are sums, and shares are shares of the sums. The quantiles of intervals are medians of the trials' quantiles,
    and the maximum is the largest.
    """
    intervals, samples, expected = (
        sum(getattr(each, name) for each in figures) for name in ("intervals", "samples", "expected")
    )
    two, five = sum(each.gaps_over_2s for each in figures), sum(each.gaps_over_5s for each in figures)
    spikes = sum(each.spikes_over_500ms for each in figures)
    return ArrivalFigures(
        intervals=intervals,
        interval_ms_p50=quantile(known(each.interval_ms_p50 for each in figures), 0.5),
        interval_ms_p95=quantile(known(each.interval_ms_p95 for each in figures), 0.5),
        interval_ms_max=max(known(each.interval_ms_max for each in figures), default=None),
        gaps_over_2s=two,
        gaps_over_5s=five,
        gap_over_2s_share=share(two, intervals),
        gap_over_5s_share=share(five, intervals),
        samples=samples,
        spikes_over_500ms=spikes,
        spike_share=share(spikes, samples),
        spike_events=sum(each.spike_events for each in figures),
        expected=expected,
        missing_share=share(expected - samples, expected),
    )


def intervals_of(columns: Columns) -> Floats:
    """Return the seconds between consecutive first arrivals at each client, by its own clock, without warm-up."""
    has_stamp = ~np.isnan(columns.received_client_us)
    places = first_of_each(columns, columns.has_arrived & has_stamp & ~columns.warmup)
    stamps_us, client = columns.received_client_us[places], columns.client[places]
    order = np.lexsort((stamps_us, client))
    stamps_us, client = stamps_us[order], client[order]
    intervals_s: Floats = ((stamps_us[1:] - stamps_us[:-1]) / _US)[client[1:] == client[:-1]]
    return intervals_s


def share(part: int, whole: int) -> float | None:
    """Return part over whole; `None` where the whole is 0, since 0 of 0 is no data."""
    return part / whole if whole else None


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else 1000 * seconds
