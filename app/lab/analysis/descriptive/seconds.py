"""Series per second of each arm: the mean of each second over the trials that count and their clients."""

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
    """The series of one arm at one count of clients; the index in a series is the second, from 0."""

    arm: Arm
    clients: int
    cpu_process_percent: Series
    """CPU in percent of all cores, from the beginning of the CPU window on. It begins 20 ms before the first notification
    is due (100 ms with phones), warm-up included."""
    cpu_kernel_percent: Series
    """The whole machine's time in the kernel, likewise."""
    down_kbps: Series
    """Payload received by a client, from the due time of the first measured notification on."""
    delay_ms: Series
    """Mean delay of the second's arrivals, from the same time on."""


@computed_once
def seconds(analysis: Analysis) -> tuple[SecondsRow, ...]:
    """Return a row for each row of the summary, in its order."""
    return tuple(_row(analysis, row.arm, row.clients) for row in analysis.summary)


def _row(analysis: Analysis, arm: Arm, clients: int) -> SecondsRow:
    own = analysis.counted_trials(arm, clients)
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
    """Return the mean of each second over the series that have a value in it."""
    own = list(series)
    length = max(map(len, own), default=0)
    return tuple(
        mean([value for each in own if second < len(each) and (value := each[second]) is not None])
        for second in range(length)
    )
