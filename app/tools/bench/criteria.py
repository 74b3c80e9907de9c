"""Promises about the direct fan-out, compared with the measurements of the same run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.core.wire import TRANSPORT_SSE
from app.tools.bench.plan import (
    DIRECT,
    FLOOR,
    IDLE_REPETITIONS_JUDGED_MIN,
    REPETITIONS_JUDGED_MIN,
    STOCK,
    transport_title,
)
from app.tools.bench.session import BURST_HTTP, BURST_INSIDE, MEMORY, PACED
from app.tools.bench.summary import Growth, SummaryRow

CPU_MAX = {TRANSPORT_SSE: 1.25}
CPU_MAX_OTHERS = 1.4
P99_OF_STOCK_MAX = 0.5
BURST_RATE_MIN = 1.5
BURST_P99_MAX = 1.0
"""Holds for publishes inside the process only; for one POST after the other nothing is promised about delays."""
MEMORY_MAX_BYTES = {TRANSPORT_SSE: 2 * 1024}
MEMORY_MAX_BYTES_OTHERS = 6 * 1024
GROWTH_MAX = 1.3

SWARM_BUSY_MAX = 0.97
"""Utilisation of its core from which the swarm, and not the server, may have limited a burst."""

CPU_LEVELS = (1_000, 5_000)
"""Levels of the promises about CPU and p99. At 100 subscribers, the request itself is a large part of the cost."""

GROWTH_LEVELS = (100, 10_000)

MEMORY_CONNECTIONS_MIN = 5_000
"""With fewer connections, the steps show in which memory is requested from the system."""


@dataclass(frozen=True, slots=True)
class Criterion:
    """One promise and its measurement."""

    transport: str
    text: str
    measured: float
    limit: float
    at_least: bool
    """True if the limit is a minimum."""
    judged: bool
    """True if this is a verdict: there were enough repetitions, and the swarm was fast enough."""
    swarm_busy: float | None = None
    """Median utilisation of the swarm's core with the floor or with our server, whichever is larger; only for
    bursts."""

    @property
    def is_of_the_swarm(self) -> bool:
        """True if the figure may be limited by the swarm."""
        return self.swarm_busy is not None and self.swarm_busy >= SWARM_BUSY_MAX

    @property
    def met(self) -> bool:
        """True if the promise is kept."""
        return self.measured >= self.limit if self.at_least else self.measured <= self.limit


def criteria(rows: Sequence[SummaryRow], growths: Sequence[Growth]) -> list[Criterion]:
    """Return the promises that this run measured."""
    busy = {_place(row): row for row in rows if row.metric == "swarm_busy"}
    found = [criterion for row in rows for criterion in _of_row(row, busy.get(_place(row)))]
    for each in growths:
        if each.server == DIRECT and (each.fewest, each.most) == GROWTH_LEVELS and each.ratio is not None:
            judged = len(each.exponents) >= REPETITIONS_JUDGED_MIN
            text = f"cost per delivery at {each.most:,} over that at {each.fewest:,} subscribers"
            found.append(_criterion(each.transport, text, each.ratio, GROWTH_MAX, judged=judged))
    return found


def _place(row: SummaryRow) -> tuple[str, str, int]:
    return row.transport, row.kind, row.subscribers


def _of_row(row: SummaryRow, swarm: SummaryRow | None) -> list[Criterion]:
    enough = IDLE_REPETITIONS_JUDGED_MIN if row.kind == MEMORY else REPETITIONS_JUDGED_MIN
    judged = all(count >= enough for count in row.counts.values())
    found = []
    busy = None if swarm is None else max(swarm.medians.get(each, 0.0) for each in (FLOOR, DIRECT))

    def add(text: str, measured: float | None, limit: float, *, at_least: bool = False) -> None:
        if measured is not None:
            found.append(
                _criterion(
                    row.transport, text, measured, limit, at_least=at_least, judged=judged, swarm_busy=busy
                )
            )

    level = f"{row.subscribers:,} subscribers"
    if row.kind == PACED and row.subscribers in CPU_LEVELS:
        if row.metric == "cpu_us":
            limit = CPU_MAX.get(row.transport, CPU_MAX_OTHERS)
            add(f"paced, {level}: CPU per delivery, direct over floor", row.ratio(DIRECT, FLOOR), limit)
        elif row.metric == "p99_ms":
            text = f"paced, {level}: p99 delay, direct over stock"
            add(text, row.ratio(DIRECT, STOCK), P99_OF_STOCK_MAX)
    elif row.kind in (BURST_HTTP, BURST_INSIDE):
        way = "by HTTP" if row.kind == BURST_HTTP else "in process"
        ratio = row.ratio(DIRECT, FLOOR)
        if row.metric == "deliveries_per_s":
            text = f"back to back {way}, {level}: deliveries/s, direct over floor in a round"
            add(text, ratio, BURST_RATE_MIN, at_least=True)
        elif row.metric == "p99_ms" and row.kind == BURST_INSIDE:
            add(f"back to back {way}, {level}: p99 delay, direct over floor in a round", ratio, BURST_P99_MAX)
    elif row.kind == MEMORY and row.subscribers >= MEMORY_CONNECTIONS_MIN:
        limit = MEMORY_MAX_BYTES.get(row.transport, MEMORY_MAX_BYTES_OTHERS)
        add(f"bytes per idle connection, {row.subscribers:,} of them", row.medians.get(DIRECT), limit)
    return found


def _criterion(
    transport: str,
    text: str,
    measured: float,
    limit: float,
    *,
    judged: bool,
    at_least: bool = False,
    swarm_busy: float | None = None,
) -> Criterion:
    text = f"{transport_title(transport)}: {text}"
    kept_up = swarm_busy is None or swarm_busy < SWARM_BUSY_MAX
    return Criterion(transport, text, measured, limit, at_least, judged and kept_up, swarm_busy)
