"""What a bench of several processes comes to: each figure of every server, and ratios with their intervals."""

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
    """One server over another, in one figure."""

    transport: str
    kind: str
    metric: str
    of: str
    to: str
    repetitions: int
    """In which both count."""
    ratio: float | None
    """Hodges and Lehmann's middle of the logarithms, back as a ratio."""
    low: float | None
    high: float | None
    """Ends of the exact 95 % interval that belongs to it (signed ranks); `None` below six repetitions."""


def ratios(cells: Sequence[BenchCell], plan: SeveralPlan) -> list[Ratio]:
    """The way over Redis against the memory, and each number of processes against the first, within repetitions."""
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
    """Over the repetitions that count."""
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
