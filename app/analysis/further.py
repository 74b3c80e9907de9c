"""What is known of each arm beside the comparison: regularity, seconds, places. Descriptive, from the blocks that count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from app.analysis.analyse import Analysis
from app.analysis.arrivals import ArrivalFigures, arrival_figures, pooled
from app.analysis.kept import kept
from app.analysis.positions import position_figures
from app.analysis.statistics import mean, median
from app.analysis.summary import AnalysedTrial, SummaryRow
from app.analysis.telemetry import IntervalRow, LevelRow, interval_row, level_row, telemetry
from app.core.scenario import Arm
from app.core.trial import TrialRecord

SECONDS_DELIVERIES_MAX = 10_000
"""Of a trial with more, every so-many-th client is looked at second by second."""


@dataclass(frozen=True, slots=True)
class FurtherRow:
    """One arm at one count of clients."""

    arm: Arm
    clients: int
    arrivals: ArrivalFigures
    down_kbps: LevelRow
    delay_ms: LevelRow
    jitter_ms: LevelRow
    intervals: IntervalRow
    spread_ms_p50: float | None
    """Medians of the trials' figures; `None` where the server recorded nothing."""
    effect_us_per_place: float | None
    first_share_max: float | None
    rss_bytes: float | None
    """Resident memory of the server's process tree at the trials' ends, their mean."""


@kept
def further(analysis: Analysis) -> tuple[FurtherRow, ...]:
    """A row for each row of the summary, in its order."""
    return tuple(_row(analysis, row) for row in analysis.summary)


def _row(analysis: Analysis, row: SummaryRow) -> FurtherRow:
    plan = analysis.run.plan
    own = [
        each
        for each in analysis.trials
        if each.in_comparison
        and (each.record.spec.arm.name, each.record.spec.clients) == (row.arm.name, row.clients)
    ]
    seconds = [client for each in own for client in telemetry(_thinned(each.record), plan)]
    places = [found for each in own if (found := position_figures(each.record)) is not None]
    return FurtherRow(
        arm=row.arm,
        clients=row.clients,
        arrivals=pooled([arrival_figures(each.record, plan) for each in own]),
        down_kbps=level_row([each.down_kbps for each in seconds]),
        delay_ms=level_row([each.delay_ms for each in seconds]),
        jitter_ms=level_row([each.jitter_ms for each in seconds]),
        intervals=interval_row(seconds),
        spread_ms_p50=_median([each.spread_ms_p50 for each in places]),
        effect_us_per_place=_median([each.effect_us_per_place for each in places]),
        first_share_max=_median([each.first_share_max for each in places]),
        rss_bytes=_mean_rss(own),
    )


def _thinned(record: TrialRecord) -> TrialRecord:
    step = -(-len(record.deliveries) // SECONDS_DELIVERIES_MAX) or 1
    if step == 1:
        return record
    return replace(record, deliveries=tuple(each for each in record.deliveries if each.client % step == 0))


def _mean_rss(trials: Sequence[AnalysedTrial]) -> float | None:
    return mean([float(each.cpu.rss_bytes) for each in trials if each.cpu.rss_bytes is not None])


def _median(values: Sequence[float | None]) -> float | None:
    return median([value for value in values if value is not None])
