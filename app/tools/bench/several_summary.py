"""Summary of a bench of several processes: figures of every server, and ratios with intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from app.lab.analysis.statistics.quantile import median
from app.lab.analysis.statistics.signed_rank import pseudo_median, signed_rank_interval
from app.tools.bench.session import BURST_HTTP, PACED, BenchCell
from app.tools.bench.several import SeveralPlan

LEVEL = 0.95

METRICS = (
    *((PACED, metric) for metric in ("cpu_us", "redis_cpu_us", "p50_ms", "p99_ms")),
    *((BURST_HTTP, metric) for metric in ("deliveries_per_s", "cpu_us", "redis_cpu_us", "p99_ms")),
)


@dataclass(frozen=True, slots=True)
class Ratio:
    """Ratio of one figure between two servers."""

    transport: str
    kind: str
    metric: str
    of: str
    to: str
    repetitions: int
    """Number of repetitions in which both cells are valid."""
    ratio: float | None
    """Hodges and Lehmann's estimate over the logarithms, converted back to a ratio."""
    low: float | None
    high: float | None
    """Ends of its exact 95 % interval (signed ranks); `None` below six repetitions."""


def ratios(cells: Sequence[BenchCell], plan: SeveralPlan) -> list[Ratio]:
    """Return Redis over memory, and each number of processes over the first, paired by repetition."""
    memory, first, *more = (arm.name for arm in plan.arms)
    pairs = [(first, memory), *((each, first) for each in more)]
    return [
        _ratio(cells, transport, kind, metric, of, to)
        for transport in plan.transports
        for kind, metric in METRICS
        for of, to in pairs
    ]


def median_of(
    cells: Sequence[BenchCell], server: str, transport: str, kind: str, metric: str
) -> float | None:
    """Return the median over the valid repetitions."""
    return median(
        [
            value
            for each in cells
            if (each.server, each.transport, each.kind) == (server, transport, kind)
            and each.is_valid
            and (value := each.values.get(metric)) is not None
        ]
    )


def _ratio(cells: Sequence[BenchCell], transport: str, kind: str, metric: str, of: str, to: str) -> Ratio:
    values = {
        (each.server, each.repetition): value
        for each in cells
        if (each.transport, each.kind) == (transport, kind)
        and each.is_valid
        and (value := each.values.get(metric))
    }
    logs = [
        math.log(value / below)
        for (server, repetition), value in values.items()
        if server == of and (below := values.get((to, repetition)))
    ]
    middle = pseudo_median(logs)
    interval = signed_rank_interval(logs, LEVEL)
    return Ratio(
        *(transport, kind, metric, of, to, len(logs)),
        None if middle is None else math.exp(middle),
        None if interval.low is None else math.exp(interval.low),
        None if interval.high is None else math.exp(interval.high),
    )
