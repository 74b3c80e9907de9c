"""A trial's course as one line for each arm: every second's mean over the trials that count, and over their clients."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.core.plan.scenario import Arm
from app.lab.analysis.analyse import Analysis
from app.lab.analysis.cached import computed_once
from app.lab.analysis.descriptive.arm_rows import thinned
from app.lab.analysis.descriptive.timeline import kernel_percent, process_percent
from app.lab.analysis.metrics.telemetry import Series, telemetry
from app.lab.analysis.statistics.quantile import mean


@dataclass(frozen=True, slots=True)
class SecondsRow:
    """One arm at one count of clients; place in a series is the second, from 0."""

    arm: Arm
    clients: int
    cpu_process_percent: Series
    """Of all cores, from the beginning of the CPU window: 20 ms before the first notification is due, warm-up included, and
    100 ms with phones."""
    cpu_kernel_percent: Series
    down_kbps: Series
    """Of a client, from the first measured notification's due time; likewise below."""
    delay_ms: Series


@computed_once
def seconds(analysis: Analysis) -> tuple[SecondsRow, ...]:
    """A row for each row of the summary, in its order."""
    return tuple(_row(analysis, row.arm, row.clients) for row in analysis.summary)


def _row(analysis: Analysis, arm: Arm, clients: int) -> SecondsRow:
    own = analysis.counting(arm, clients)
    found = [each for trial in own for each in telemetry(thinned(trial.record), analysis.run.plan)]
    return SecondsRow(
        arm=arm,
        clients=clients,
        cpu_process_percent=_means(process_percent(each) for each in own),
        cpu_kernel_percent=_means(kernel_percent(each) for each in own),
        down_kbps=_means(each.down_kbps for each in found),
        delay_ms=_means(each.delay_ms for each in found),
    )


def _means(series: Iterable[Sequence[float | None]]) -> Series:
    """Second by second, of those that have a value in it."""
    own = list(series)
    length = max(map(len, own), default=0)
    return tuple(
        mean([value for each in own if place < len(each) and (value := each[place]) is not None])
        for place in range(length)
    )
