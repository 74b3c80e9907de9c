"""Series per second, as in the edge-device study: its Table I (levels) and Table II (zeros, intervals, gaps).

A second has a value above 0, a 0, or no value; the three shares add up to 1. The study's text reads missing values as
"zero traffic", although its own zero rates are 0.000 and 0.001. Here a missing value is never 0:

    down_kbps    8 * payload bytes received / 1000 in that second (the study's eq. 3); 0 without arrivals
    up_kbps      8 * payload bytes sent / 1000 in that second (its eq. 2), counted where the client hands them to TCP;
                 0 when it sent nothing, missing where clients do not report it (phones, and runs before it was recorded)
    delay_ms     mean delay of the second's arrivals; missing without arrivals
    jitter_ms    RFC 3550's J after the last arrival of the second (the study's eq. 1); missing without arrivals, or with
                 only the client's first arrival, which has no predecessor

Seconds count from the due time of the first measured notification, in the server's time base. An incomplete last second
is left out, unless it is the only one; arrivals after the last second count to it. An arrival without a known clock
belongs to no second: it makes the client's series of the whole trial missing, never 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import floor

from app.core.delivery import Delivery
from app.core.plan.scenario import Plan, arm_plan
from app.core.timeline import TrialTimeline, Upload
from app.core.trial import TrialRecord
from app.lab.analysis.columns import ARRIVED, columns_of
from app.lab.analysis.metrics.arrivals import GAP_S_LIMITS, intervals_of, share
from app.lab.analysis.metrics.trial_metrics import JITTER_GAIN, by_client
from app.lab.analysis.statistics.quantile import mean, quantile

Series = tuple[float | None, ...]
"""A value for each second; `None` where it is missing."""


@dataclass(frozen=True, slots=True)
class Telemetry:
    """The series of one client in one trial."""

    client: int
    down_kbps: Series
    up_kbps: Series
    delay_ms: Series
    jitter_ms: Series
    intervals_s: tuple[float, ...]
    """Intervals between consecutive arrivals."""


@dataclass(frozen=True, slots=True)
class LevelRow:
    """A column of the study's Table I; mean, quantiles and extremes are of the seconds that have a value."""

    seconds: int
    mean: float | None
    p50: float | None
    p95: float | None
    min: float | None
    max: float | None
    missing_rate: float | None
    """Seconds without a value over all seconds."""
    zero_rate: float | None
    """Seconds with exactly 0 over all seconds (Table II)."""
    nonzero_rate: float | None


@dataclass(frozen=True, slots=True)
class IntervalRow:
    """The lower half of the study's Table II; as there, nothing is subtracted from an interval."""

    intervals: int
    median_s: float | None
    p95_s: float | None
    max_s: float | None
    over_2s_rate: float | None
    over_5s_rate: float | None


def telemetry(record: TrialRecord, plan: Plan) -> tuple[Telemetry, ...]:
    """Return the series of every client of a trial; empty where nothing was due."""
    measured = [each for each in record.deliveries if not each.warmup]
    if not measured:
        return ()
    own_plan = arm_plan(plan, record.spec.arm)
    start_us = min(each.due_us for each in measured)
    length_s = (max(each.due_us for each in measured) - start_us) / 1e6 + 1 / own_plan.rate_hz
    seconds = max(1, floor(length_s + 1e-6))
    uploads = _uploads_by_client(record.timeline)
    return tuple(
        replace(
            _client_series(
                client, own, start_us=start_us, seconds=seconds, payload_bytes=own_plan.payload_bytes
            ),
            up_kbps=_up_kbps(uploads.get(client, ()), own, start_us=start_us, seconds=seconds)
            if uploads is not None
            else (None,) * seconds,
        )
        for client, own in sorted(by_client(measured).items())
    )


def both_zero_rate(found: Sequence[Telemetry]) -> float | None:
    """Return the share of seconds without traffic in either direction, of those with both known (Table II)."""
    pairs = [
        (down, up)
        for each in found
        for down, up in zip(each.down_kbps, each.up_kbps, strict=True)
        if down is not None and up is not None
    ]
    return share(sum(down == 0 and up == 0 for down, up in pairs), len(pairs))


def level_row(series: Sequence[Series]) -> LevelRow:
    """Summarise all seconds of several series together, as the study pooled its sessions; the row is descriptive."""
    values = [value for own in series for value in own]
    known = [value for value in values if value is not None]
    zeros = known.count(0.0)
    return LevelRow(
        seconds=len(values),
        mean=mean(known),
        p50=quantile(known, 0.5),
        p95=quantile(known, 0.95),
        min=min(known, default=None),
        max=max(known, default=None),
        missing_rate=share(len(values) - len(known), len(values)),
        zero_rate=share(zeros, len(values)),
        nonzero_rate=share(len(known) - zeros, len(values)),
    )


def interval_row(found: Sequence[Telemetry]) -> IntervalRow:
    """Summarise all intervals of several clients and trials together."""
    values = [value for each in found for value in each.intervals_s]
    over_2s, over_5s = (sum(value > limit for value in values) for limit in GAP_S_LIMITS)
    return IntervalRow(
        intervals=len(values),
        median_s=quantile(values, 0.5),
        p95_s=quantile(values, 0.95),
        max_s=max(values, default=None),
        over_2s_rate=share(over_2s, len(values)),
        over_5s_rate=share(over_5s, len(values)),
    )


def _client_series(
    client: int, deliveries: Sequence[Delivery], *, start_us: int, seconds: int, payload_bytes: int
) -> Telemetry:
    arrived = [each for each in deliveries if each.outcome in ARRIVED]
    intervals_s = tuple(intervals_of(columns_of(arrived)).tolist())
    if any(each.received_us is None for each in arrived):
        blank: Series = (None,) * seconds
        return Telemetry(client, blank, blank, blank, blank, intervals_s)
    counts = [0] * seconds
    delays: list[list[float]] = [[] for _ in range(seconds)]
    jitters: list[float | None] = [None] * seconds
    jitter_us, before_us = 0.0, 0.0
    for place, each in enumerate(sorted(arrived, key=_received_us)):
        second = max(0, min(floor((_received_us(each) - start_us) / 1e6), seconds - 1))
        transit_us = _received_us(each) - (each.due_us if each.sent_us is None else each.sent_us)
        if place:
            jitter_us += (abs(transit_us - before_us) - jitter_us) * JITTER_GAIN
            jitters[second] = jitter_us / 1000
        before_us = transit_us
        counts[second] += 1
        delays[second].append((_received_us(each) - each.due_us) / 1000)
    return Telemetry(
        client=client,
        down_kbps=tuple(8 * payload_bytes * count / 1000 for count in counts),
        up_kbps=(None,) * seconds,
        delay_ms=tuple(mean(own) for own in delays),
        jitter_ms=tuple(jitters),
        intervals_s=intervals_s,
    )


def _uploads_by_client(timeline: TrialTimeline | None) -> dict[int, list[Upload]] | None:
    """Return the uploads by client, without clients that sent nothing; `None` where clients did not report uploads."""
    if timeline is None or not timeline.uploads_known:
        return None
    found: dict[int, list[Upload]] = {}
    for each in timeline.uploads:
        found.setdefault(each.client, []).append(each)
    return found


def _up_kbps(
    uploads: Sequence[Upload], deliveries: Sequence[Delivery], *, start_us: int, seconds: int
) -> Series:
    """Return the series of what one client sent; all missing without a known clock.

    Its own clock is converted to server time by the first known offset of its deliveries.
    """
    offset_us = next((each.clock_offset_us for each in deliveries if each.clock_offset_us is not None), None)
    if offset_us is None:
        return (None,) * seconds
    sent_bytes = [0] * seconds
    for each in uploads:
        second = floor((each.at_us + offset_us - start_us) / 1e6)
        if 0 <= second < seconds:
            sent_bytes[second] += each.payload_bytes
    return tuple(8 * count / 1000 for count in sent_bytes)


def _received_us(delivery: Delivery) -> float:
    received_us = delivery.received_us
    assert received_us is not None, "clients with an unknown clock were left out above"
    return received_us
