"""Checks of source, clients, clocks, transport and recording of a trial, and notes on loss."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from app.core.clocksync.sync import BOUND_MAX_US
from app.core.delivery import SampleState
from app.core.trial import TrialRecord, TrialWarning
from app.lab.analysis.columns import Columns, columns_of
from app.lab.analysis.metrics.split import Split
from app.lab.analysis.metrics.trial_figures import TrialFigures
from app.lab.analysis.metrics.trial_metrics import TrialMetrics
from app.lab.analysis.validity.trial_warnings import note, void

SOURCE_LAG_MS_MAX = 5.0
"""Largest p99 of sent - due; above it, the trial measures the source and not the transport."""

CLOCK_BOUND_MS_MAX = BOUND_MAX_US / 1000
"""U_max of `measurement.md` section 1."""

CLIENT_LAG_MS_MIN = 5.0
CLIENT_LAG_SHARE = 0.10
"""Limits for a client's event loop: it may be late by as much as a source, or by a tenth of the median delay, whichever is
more. Below, medians rise by a few percent with the lag (docs/measurement.md), much less than the equivalence margin."""

KERNEL_STAMPS_MISSING_MAX = 0.01

LEFT_OUT_SHARE_VOID = 0.5
"""With more than half of the arrivals left out, the rest no longer represents the trial."""


def instrument_warnings(record: TrialRecord, metrics: TrialMetrics) -> Iterator[TrialWarning]:
    """Check that the source and the clients' event loops were on time."""
    lag_ms = metrics.source_lag_ms_p99
    if lag_ms is not None and lag_ms > SOURCE_LAG_MS_MAX:
        yield void("source_late", lag_ms=lag_ms, limit_ms=SOURCE_LAG_MS_MAX)
    limit_ms = max(CLIENT_LAG_MS_MIN, CLIENT_LAG_SHARE * (metrics.delay_ms.p50 or 0.0))
    loop_ms = record.client_loop_lag_ms_p99
    if loop_ms is not None and loop_ms > limit_ms:
        yield note("client_slow", lag_ms=loop_ms, limit_ms=limit_ms)


def sample_warnings(record: TrialRecord, figures: TrialFigures) -> Iterator[TrialWarning]:
    """Check clock, transport, usable samples, kernel stamps and recording of the arrivals."""
    metrics, columns = figures.metrics, columns_of(record.deliveries)
    no_clock = metrics.left_out.get(SampleState.NO_CLOCK, 0) + metrics.left_out.get(SampleState.WIDE_U, 0)
    bound_ms = metrics.clock_bound_ms
    if no_clock or (bound_ms is not None and bound_ms > CLOCK_BOUND_MS_MAX):
        widest: dict[str, Any] = {"variant": "widest", "bound_ms": bound_ms} if bound_ms is not None else {}
        # A phone with a slow radio is left out of all arms alike, and the other phones represent the trial.
        # Built-in clients share one clock, so that an error of one arrival concerns all of them.
        is_tolerable = record.participants and no_clock <= LEFT_OUT_SHARE_VOID * metrics.delivered
        make = note if is_tolerable else void
        yield make("clock_wide", limit_ms=CLOCK_BOUND_MS_MAX, count=no_clock, **widest)
    if negative := _count_before_sent(columns):
        yield void("negative_delay", count=negative)
    if polling := metrics.left_out.get(SampleState.POLLING, 0):
        yield void("wrong_transport", count=polling)
    if left_out := {
        str(state): n
        for state, n in metrics.left_out.items()
        if state not in ("no_clock", "wide_u", "polling")
    }:
        share = sum(left_out.values()) / metrics.delivered
        make = void if share > LEFT_OUT_SHARE_VOID else note
        yield make("samples_left_out", delivered=metrics.delivered, left_out=left_out)
    yield from _kernel_stamp_warnings(columns)
    yield from _recording_warnings(record, figures.split)


def result_warnings(metrics: TrialMetrics) -> Iterator[TrialWarning]:
    """Note loss and lateness: they are results of the transport and void nothing, but lost deliveries have no delay."""
    if metrics.lost or metrics.late:
        yield note("lost_or_late", lost=metrics.lost, expected=metrics.expected, late=metrics.late)


def _recording_warnings(record: TrialRecord, found: Split | None) -> Iterator[TrialWarning]:
    """Note the writes that the server should have recorded and did not."""
    if record.instrument is None:
        return
    if found is None:
        yield note("not_recorded", reason=str(record.instrument.absent))
    elif found.unmatched or record.instrument.dropped:
        dropped = record.instrument.dropped
        yield note("not_recorded", variant="some", unmatched=found.unmatched, dropped=dropped)


def _kernel_stamp_warnings(columns: Columns) -> Iterator[TrialWarning]:
    """Note missing kernel stamps where some samples have one; a platform without any is no fault."""
    samples = columns.samples()
    missing = int(np.isnan(columns.kernel_received_us[samples]).sum())
    if missing < len(samples) and missing > KERNEL_STAMPS_MISSING_MAX * len(samples):
        yield note("kernel_stamps_missing", missing=missing, samples=len(samples))


def _count_before_sent(columns: Columns) -> int:
    """Count arrivals that precede their sending by more than the clock's bound, warm-up included: it has the same clock."""
    is_judged = columns.has_state(SampleState.OK, SampleState.WARMUP) & columns.has_sent
    delay_from_sent_ms = (columns.received_us - columns.sent_us) / 1000
    # Unknown values are NaN, for which the comparison is False.
    return int((is_judged & (delay_from_sent_ms * 1000 < -columns.clock_bound_us)).sum())
