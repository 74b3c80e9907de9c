"""Summary of the cells of a bench: medians over valid repetitions, ratios, and growth of the cost."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from app.tools.bench.plan import DIRECT, FLOOR, SEND, STOCK, BenchPlan
from app.tools.bench.session import BURST_HTTP, BURST_INSIDE, CONNECT, MEMORY, PACED, SWARM, BenchCell

_OF_BURSTS = (
    *("deliveries_per_s", "cpu_us", "p50_ms", "p99_ms", "p99_pooled_ms"),
    *("read_p99_ms", "swarm_busy"),
)

METRICS: dict[str, tuple[str, ...]] = {
    PACED: ("cpu_us", "p50_ms", "p99_ms", "read_p99_ms"),
    BURST_HTTP: _OF_BURSTS,
    BURST_INSIDE: _OF_BURSTS,
    SWARM: ("deliveries_per_s",),
    CONNECT: ("connections_per_s", "cpu_us"),
    MEMORY: ("bytes_per_connection",),
}

PAIRS = ((DIRECT, FLOOR), (STOCK, FLOOR), (STOCK, DIRECT), (DIRECT, SEND))
"""Ratios, first over second; the last one is shown only if that server was selected."""


@dataclass(frozen=True, slots=True)
class SummaryRow:
    """One figure of every server, for one transport and level."""

    transport: str
    kind: str
    subscribers: int
    metric: str
    medians: dict[str, float]
    """Medians by server; servers without a valid repetition are left out."""
    counts: dict[str, int]
    """Numbers of valid repetitions by server."""
    in_rounds: dict[str, float] = field(default_factory=dict)
    """Ratios of bursts, by `of/to`: the ratio within a round, its median over a repetition, and the median over
    repetitions. Changes of the machine that affect both windows of a round cancel out, which they do not in a ratio of
    two medians."""

    def ratio(self, of: str, to: str) -> float | None:
        """Return the ratio within rounds if there is one, else that of the medians."""
        if (found := self.in_rounds.get(f"{of}/{to}")) is not None:
            return found
        if of not in self.medians or not self.medians.get(to):
            return None
        return self.medians[of] / self.medians[to]


@dataclass(frozen=True, slots=True)
class Growth:
    """Dependence of the cost of a delivery on the number of subscribers."""

    transport: str
    server: str
    fewest: int
    most: int
    exponents: tuple[float, ...]
    """Fitted exponents, one for each repetition in which every level is valid."""
    ratio: float | None
    """Cost at `most` over cost at `fewest`, of the medians."""

    @property
    def exponent(self) -> float | None:
        """The median of the exponents."""
        return statistics.median(self.exponents) if self.exponents else None


def rows(cells: Sequence[BenchCell], plan: BenchPlan) -> list[SummaryRow]:
    """Return every figure, in the order of display."""
    found = []
    for transport in plan.transports:
        of_transport = [each for each in cells if each.transport == transport]
        for kind, metrics in METRICS.items():
            for subscribers in sorted({each.subscribers for each in of_transport if each.kind == kind}):
                of_level = [
                    each for each in of_transport if (each.kind, each.subscribers) == (kind, subscribers)
                ]
                found += [_row(of_level, metric, plan) for metric in metrics]
    return found


def growth(cells: Sequence[BenchCell], plan: BenchPlan) -> list[Growth]:
    """Return the growth of the cost for each server; none with fewer than two levels."""
    return [
        found
        for transport in plan.transports
        for server in plan.servers
        if (found := _growth(cells, transport, server)) is not None
    ]


def _row(cells: Sequence[BenchCell], metric: str, plan: BenchPlan) -> SummaryRow:
    medians, counts = {}, {}
    for server in plan.servers:
        values = list(_values(cells, server, metric))
        if values:
            medians[server], counts[server] = statistics.median(values), len(values)
    first = cells[0]
    in_rounds = {
        f"{of}/{to}": statistics.median(ratios)
        for of, to in PAIRS
        if (ratios := list(_ratios_in_rounds(cells, metric, of, to)))
    }
    return SummaryRow(first.transport, first.kind, first.subscribers, metric, medians, counts, in_rounds)


def _ratios_in_rounds(cells: Sequence[BenchCell], metric: str, of: str, to: str) -> Iterator[float]:
    """Yield the ratio for each repetition in which both cells are valid."""
    counting = {
        (each.repetition, each.server): {window["round"]: window.get(metric) for window in each.windows}
        for each in cells
        if each.is_valid and each.values.get(metric) is not None
    }
    for repetition in sorted({repetition for repetition, _ in counting}):
        its, others = (counting.get((repetition, server), {}) for server in (of, to))
        ratios = [
            value / other
            for number, value in its.items()
            if value is not None and (other := others.get(number)) is not None and other > 0
        ]
        if ratios:
            yield statistics.median(ratios)


def _values(cells: Iterable[BenchCell], server: str, metric: str) -> Iterator[float]:
    for cell in cells:
        value = cell.values.get(metric)
        if cell.is_valid and cell.server == server and value is not None:
            yield value


def _growth(cells: Sequence[BenchCell], transport: str, server: str) -> Growth | None:
    paced = [each for each in cells if (each.kind, each.transport, each.server) == (PACED, transport, server)]
    levels = sorted({each.subscribers for each in paced})
    if len(levels) < 2:
        return None
    exponents = []
    for repetition in sorted({each.repetition for each in paced}):
        points = [
            (float(each.subscribers), cost)
            for each in paced
            if each.repetition == repetition and each.is_valid and (cost := each.values.get("cpu_us"))
        ]
        fitted = exponent(points) if len(points) == len(levels) else None
        if fitted is not None:
            exponents.append(fitted)
    ends = [
        list(_values([each for each in paced if each.subscribers == level], server, "cpu_us"))
        for level in (levels[0], levels[-1])
    ]
    ratio = statistics.median(ends[1]) / statistics.median(ends[0]) if all(ends) else None
    return Growth(transport, server, levels[0], levels[-1], tuple(exponents), ratio)


def exponent(points: Sequence[tuple[float, float]]) -> float | None:
    """Return b of the line through (log N, log cost); 0 means constant cost. `None` for fewer than two different N."""
    logs = [(math.log(count), math.log(cost)) for count, cost in points if count > 0 and cost > 0]
    if len({x for x, _ in logs}) < 2:
        return None
    mean_x = math.fsum(x for x, _ in logs) / len(logs)
    mean_y = math.fsum(y for _, y in logs) / len(logs)
    along = math.fsum((x - mean_x) * (y - mean_y) for x, y in logs)
    return along / math.fsum((x - mean_x) ** 2 for x, _ in logs)
