"""Summary of each arm at each count of clients, pooled over its trials: descriptive figures without intervals.

Samples of one trial resemble each other, so that pooled samples are no independent evidence. Intervals and verdicts come
from block differences instead (`comparison/compare_arms.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.core.plan.scenario import Arm
from app.core.trial import CpuUse, TrialRecord, TrialWarning
from app.lab.analysis.columns import Floats, columns_of
from app.lab.analysis.metrics.cpu import CpuFigures
from app.lab.analysis.metrics.split import Split, SplitRow, split_row
from app.lab.analysis.metrics.trial_metrics import TrialMetrics, is_supported
from app.lab.analysis.statistics.quantile import known, mean, median, quantile_of_ascending

CURVE_POINTS_MAX = 200
"""Most points of a curve; a figure of a few hundred pixels shows no more."""


@dataclass(frozen=True, slots=True)
class AnalysedTrial:
    """A trial (not an idle window) with its figures and warnings."""

    record: TrialRecord
    metrics: TrialMetrics
    cpu: CpuFigures
    warnings: tuple[TrialWarning, ...]
    valid: bool
    in_comparison: bool
    """True if its block is complete, and all trials and the idle window of the block are valid."""
    split: Split | None = None
    """The parts of its delays; `None` where the server recorded nothing."""


@dataclass(frozen=True, slots=True)
class AnalysedIdle:
    """An idle window: the clients of a block are connected, and nothing is published."""

    record: TrialRecord
    cpu: CpuUse | None
    warnings: tuple[TrialWarning, ...]
    valid: bool


@dataclass(frozen=True, slots=True)
class Curve:
    """An empirical distribution function: the share of samples at or below each delay."""

    delay_ms: tuple[float, ...]
    share: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class ClientMean:
    """Mean delay of one client over the trials in the comparison."""

    client: int
    """Counted from 0."""
    mean_ms: float | None
    """Mean of the client's means of each trial."""
    low_ms: float | None
    """The lowest of these means."""
    high_ms: float | None


@dataclass(frozen=True, slots=True)
class SummaryRow:
    """One arm at one count of clients, pooled over the trials in the comparison."""

    arm: Arm
    clients: int
    trials: int
    samples: int
    broadcasts: int
    """The number of independent broadcasts; a notification to many clients is one."""
    delay_ms_mean: float | None
    """Mean of the clients' means, as in the published study."""
    delay_ms_p25: float | None
    delay_ms_p50: float | None
    delay_ms_p75: float | None
    delay_ms_p95: float | None
    delay_ms_p99: float | None
    delay_ms_max: float | None
    kernel_delay_ms_p50: float | None
    """Median of the trials' median delays by the kernel's receive stamp."""
    client_share_ms_p50: float | None
    """Median of the trials' figures."""
    jitter_ms: float | None
    """Median of the trials' figures."""
    expected: int
    delivered: int
    lost: int
    late: int
    duplicates: int
    out_of_order: int
    cpu_per_delivery_us: float | None
    """Median of the trials' figures."""
    delta_points: float | None
    """Mean of the trials' CPU use over idle, in percent of the whole machine."""
    cpu_percent_points: float | None
    """Mean of the trials' figures by the published study's own method."""
    delta_points_by_trial: tuple[float, ...]
    client_means: tuple[ClientMean, ...]
    curve: Curve
    split: SplitRow | None
    """The parts of the delays; `None` where the server recorded nothing."""


def summary_row(arm: Arm, clients: int, trials: Sequence[AnalysedTrial]) -> SummaryRow:
    """Return the row of these trials, all of which belong to this arm and count of clients."""
    delays, broadcasts = _pooled(trials)
    metrics = [each.metrics for each in trials]
    points = known([each.cpu.delta_points for each in trials])
    seats = max((len(each.client_means_ms) for each in metrics), default=clients)
    client_means = tuple(_client_mean(index, metrics) for index in range(seats))
    return SummaryRow(
        arm=arm,
        clients=clients,
        trials=len(trials),
        samples=len(delays),
        broadcasts=broadcasts,
        delay_ms_mean=mean(known([each.mean_ms for each in client_means])),
        delay_ms_p25=_supported(delays, 0.25, broadcasts),
        delay_ms_p50=_supported(delays, 0.50, broadcasts),
        delay_ms_p75=_supported(delays, 0.75, broadcasts),
        delay_ms_p95=_supported(delays, 0.95, broadcasts),
        delay_ms_p99=_supported(delays, 0.99, broadcasts),
        delay_ms_max=float(delays[-1]) if len(delays) else None,
        kernel_delay_ms_p50=median(known([each.kernel_delay_ms.p50 for each in metrics])),
        client_share_ms_p50=median(known([each.client_share_ms_p50 for each in metrics])),
        jitter_ms=median(known([each.jitter_ms for each in metrics])),
        expected=sum(each.expected for each in metrics),
        delivered=sum(each.delivered for each in metrics),
        lost=sum(each.lost for each in metrics),
        late=sum(each.late for each in metrics),
        duplicates=sum(each.duplicates for each in metrics),
        out_of_order=sum(each.out_of_order for each in metrics),
        cpu_per_delivery_us=median(known([each.cpu.per_delivery_us for each in trials])),
        delta_points=mean(points),
        cpu_percent_points=mean(known([each.cpu.cpu_percent_points for each in trials])),
        delta_points_by_trial=tuple(points),
        client_means=client_means,
        curve=curve_of(delays),
        split=split_row([each.split for each in trials if each.split is not None]),
    )


def _pooled(trials: Sequence[AnalysedTrial]) -> tuple[Floats, int]:
    """Return the delays of all samples in ms, ascending, and the number of broadcasts that they come from."""
    delays, broadcasts = [np.empty(0)], 0
    for each in trials:
        columns = columns_of(each.record.deliveries)
        delays.append(columns.delay_ms[columns.is_sample])
        broadcasts += len(np.unique(columns.seq[columns.is_sample]))
    return np.sort(np.concatenate(delays)), broadcasts


def _supported(ascending: Floats, share: float, broadcasts: int) -> float | None:
    return quantile_of_ascending(ascending, share) if is_supported(share, broadcasts=broadcasts) else None


def _client_mean(client: int, metrics: Sequence[TrialMetrics]) -> ClientMean:
    means = known([mean for each in metrics for mean in each.client_means_ms[client : client + 1]])
    return ClientMean(client, mean(means), min(means, default=None), max(means, default=None))


def curve_of(ordered: Floats) -> Curve:
    """Return the curve, thinned to evenly spaced ranks that include the first and the last."""
    count = len(ordered)
    points = min(count, CURVE_POINTS_MAX)
    ranks = (
        [round(index * (count - 1) / (points - 1)) for index in range(points)]
        if points > 1
        else range(points)
    )
    return Curve(tuple(float(ordered[rank]) for rank in ranks), tuple((rank + 1) / count for rank in ranks))
