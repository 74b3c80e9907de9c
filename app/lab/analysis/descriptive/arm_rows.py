"""Descriptive figures of each arm: regularity, series per second, order of writing, from the blocks that count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.core.plan.scenario import Arm
from app.core.trial import TrialRecord
from app.lab.analysis.analyse import Analysis
from app.lab.analysis.cached import computed_once
from app.lab.analysis.columns import columns_of, every_kth_client
from app.lab.analysis.descriptive.memory import MemoryPerConnection, memory_per_connection
from app.lab.analysis.descriptive.shapes import places as places_of
from app.lab.analysis.descriptive.timeline import TimelineRow, timeline_row
from app.lab.analysis.metrics.arrivals import ArrivalFigures, arrival_figures, pooled
from app.lab.analysis.metrics.positions import PositionFigures
from app.lab.analysis.metrics.telemetry import (
    IntervalRow,
    LevelRow,
    both_zero_rate,
    interval_row,
    level_row,
    telemetry,
)
from app.lab.analysis.metrics.trial_metrics import middle_client_ms, supported_quantile
from app.lab.analysis.statistics.quantile import known, mean, median
from app.lab.analysis.summary import AnalysedTrial, SummaryRow

SECONDS_DELIVERIES_MAX = 10_000
"""Most deliveries of a trial for series per second; of a larger trial, every k-th client is used."""


@dataclass(frozen=True, slots=True)
class DescriptiveRow:
    """The descriptive figures of one arm at one count of clients."""

    arm: Arm
    clients: int
    arrivals: ArrivalFigures
    down_kbps: LevelRow
    up_kbps: LevelRow
    delay_from_sent_ms_p50: float | None
    """Median of the trials' figures."""
    display_ms_p50: float | None
    """Median of the trials' medians; `None` without a page that paints, as for built-in clients. Formula: `display.py`."""
    display_ms_p95: float | None
    """p95 of all display delays together; needs 100 measured broadcasts."""
    replayed: int
    """Replayed deliveries, invalid trials included, since a broken connection voids its trial."""
    both_zero_rate: float | None
    """Share of seconds without traffic in either direction, of those with both known."""
    delay_ms: LevelRow
    jitter_ms: LevelRow
    intervals: IntervalRow
    spread_ms_p50: float | None
    """Median of the trials' figures, as are the next two; `None` where the server recorded nothing."""
    effect_us_per_place: float | None
    first_share_max: float | None
    rss_bytes: float | None
    """Mean of the resident memory of the server's process tree at the trials' ends."""
    memory: MemoryPerConnection
    """Memory per connection over all counts of clients of the arm: the same in each of its rows."""
    course: TimelineRow
    instrument: InstrumentErrors


@dataclass(frozen=True, slots=True)
class InstrumentErrors:
    """Errors of the instrument itself: the worst of the trials that count."""

    clock_bound_ms_max: float | None
    source_lag_ms_p99_max: float | None
    client_loop_lag_ms_p99_max: float | None


@computed_once
def descriptive_rows(analysis: Analysis) -> tuple[DescriptiveRow, ...]:
    """Return a row for each row of the summary, in its order."""
    rows = zip(analysis.summary, places_of(analysis), strict=True)
    return tuple(_row(analysis, row, places) for row, places in rows)


def _row(analysis: Analysis, row: SummaryRow, places: Sequence[PositionFigures]) -> DescriptiveRow:
    plan = analysis.run.plan
    own = analysis.counted_trials(row.arm, row.clients)
    seconds = [client for each in own for client in telemetry(thinned(each.record), plan)]
    arm_trials = [each for each in analysis.trials if each.record.spec.arm.name == row.arm.name]
    all_own = [each for each in arm_trials if each.record.spec.clients == row.clients]
    return DescriptiveRow(
        arm=row.arm,
        clients=row.clients,
        arrivals=pooled([arrival_figures(each.record, plan) for each in own]),
        down_kbps=level_row([each.down_kbps for each in seconds]),
        up_kbps=level_row([each.up_kbps for each in seconds]),
        delay_from_sent_ms_p50=median(known(from_sent_ms_p50(each) for each in own)),
        display_ms_p50=median(known(median(each.record.display_ms) for each in own)),
        display_ms_p95=_display_ms_p95(own),
        replayed=sum(each.metrics.replayed for each in all_own),
        both_zero_rate=both_zero_rate(seconds),
        delay_ms=level_row([each.delay_ms for each in seconds]),
        jitter_ms=level_row([each.jitter_ms for each in seconds]),
        intervals=interval_row(seconds),
        spread_ms_p50=median(known(each.spread_ms_p50 for each in places)),
        effect_us_per_place=median(known(each.effect_us_per_place for each in places)),
        first_share_max=median(known(each.first_share_max for each in places)),
        rss_bytes=_mean_rss(own),
        memory=memory_per_connection([each for each in arm_trials if each.in_comparison]),
        course=timeline_row(own, all_own),
        instrument=_instrument(own),
    )


def from_sent_ms_p50(trial: AnalysedTrial) -> float | None:
    """Return the median of the clients' medians of received - sent; `None` without samples."""
    columns = columns_of(trial.record.deliveries)
    samples = np.flatnonzero(columns.is_sample & columns.has_sent)
    return middle_client_ms(columns, samples, (columns.received_us - columns.sent_us) / 1000)


def _display_ms_p95(trials: Sequence[AnalysedTrial]) -> float | None:
    painted_ms = [value for each in trials for value in each.record.display_ms]
    broadcasts = sum(each.metrics.notifications for each in trials if each.record.display_ms)
    return supported_quantile(painted_ms, 0.95, broadcasts=broadcasts)


def _instrument(trials: Sequence[AnalysedTrial]) -> InstrumentErrors:
    return InstrumentErrors(
        clock_bound_ms_max=_largest([each.metrics.clock_bound_ms for each in trials]),
        source_lag_ms_p99_max=_largest([each.metrics.source_lag_ms_p99 for each in trials]),
        client_loop_lag_ms_p99_max=_largest([each.record.client_loop_lag_ms_p99 for each in trials]),
    )


def thinned(record: TrialRecord) -> TrialRecord:
    """Return the trial, reduced to every k-th client if it is large."""
    if len(record.deliveries) <= SECONDS_DELIVERIES_MAX:
        return record
    columns = columns_of(record.deliveries)
    chosen = every_kth_client(columns, record.participants, rows_max=SECONDS_DELIVERIES_MAX)
    return replace(record, deliveries=columns.rows(chosen))


def _mean_rss(trials: Sequence[AnalysedTrial]) -> float | None:
    return mean([float(each.cpu.rss_bytes) for each in trials if each.cpu.rss_bytes is not None])


def _largest(values: Sequence[float | None]) -> float | None:
    return max(known(values), default=None)
