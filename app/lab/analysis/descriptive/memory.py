"""Memory per connection: the growth of the server's resident memory with each additional client.

    slope       least squares of resident memory over clients within one repetition, since a server also grows with its age
    estimate    the centre of the repetitions' slopes and its 95 % interval: pseudo-median and exact signed-rank interval
                from 6 repetitions on; mean and Student's t interval for 2 to 5, which have no exact one

Resident memory comes in pages, and in arenas of up to megabytes: five more clients are lost in that noise, five thousand
are not. The limit depends on the server and the number of measurements, so the repetitions decide: a connection takes
memory, hence there is a figure if its interval lies above 0. Otherwise there is only the interval, whose upper end is an
upper bound.

A server keeps most of the memory that it has used once. Where one server served all counts of clients, smaller counts were
measured with memory left by larger ones, and the figure is too small rather than too large.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import stdev

from app.core.messages import Message, interval
from app.lab.analysis.statistics.interval import Interval
from app.lab.analysis.statistics.power import t_quantile
from app.lab.analysis.statistics.quantile import mean
from app.lab.analysis.statistics.signed_rank import pseudo_median, signed_rank_interval
from app.lab.analysis.summary import AnalysedTrial

KIB = 1024

LEVEL = 0.95

Points = Sequence[tuple[int, int]]
"""Clients and resident bytes of each trial of one repetition."""


class WithoutFigure(StrEnum):
    """The reason why there is no figure."""

    NOT_RECORDED = "not_recorded"
    ONE_COUNT = "one_count"
    """No repetition has two counts of clients."""
    ONE_REPETITION = "one_repetition"
    """There is one slope, without a measure of its uncertainty."""
    WITHIN_NOISE = "within_noise"
    """The interval reaches down to 0."""


@dataclass(frozen=True, slots=True)
class MemoryPerConnection:
    """The memory per connection of one arm, over all its counts of clients."""

    kib: float | None
    low_kib: float | None
    """Lower end of the interval, which is present even if the figure is within noise."""
    high_kib: float | None
    repetitions: int
    """The number of repetitions with at least two counts of clients."""
    unknown: WithoutFigure | None = None
    """The reason if there is no figure."""

    @property
    def words(self) -> Message:
        """Return the figure with its interval, else its upper bound, else the reason why there is neither."""
        if self.unknown is None:
            return Message("cell.memory", {"n": self.kib, "i": interval(self.low_kib, self.high_kib)})
        if self.high_kib is not None and self.high_kib > 0:
            return Message("cell.memory.at_most", {"n": self.high_kib})
        return Message(f"cell.memory.{self.unknown}")


def memory_per_connection(trials: Sequence[AnalysedTrial]) -> MemoryPerConnection:
    """Compute the memory per connection from the trials of one arm."""
    by_repetition: dict[int, list[tuple[int, int]]] = {}
    for each in trials:
        if each.cpu.rss_bytes is not None:
            spec = each.record.spec
            by_repetition.setdefault(spec.block, []).append((spec.clients, each.cpu.rss_bytes))
    return memory_of(by_repetition)


def memory_of(by_repetition: Mapping[int, Points]) -> MemoryPerConnection:
    """Compute the memory per connection from the points of each repetition."""
    slopes_kib = [found / KIB for points in by_repetition.values() if (found := _slope(points)) is not None]
    if len(slopes_kib) < 2:
        unknown = (
            WithoutFigure.NOT_RECORDED
            if not by_repetition
            else WithoutFigure.ONE_REPETITION
            if slopes_kib
            else WithoutFigure.ONE_COUNT
        )
        return MemoryPerConnection(None, None, None, len(slopes_kib), unknown)
    centre, bounds = _estimate(slopes_kib)
    is_above_noise = bounds.low is not None and bounds.low > 0
    return MemoryPerConnection(
        kib=centre if is_above_noise else None,
        low_kib=bounds.low,
        high_kib=bounds.high,
        repetitions=len(slopes_kib),
        unknown=None if is_above_noise else WithoutFigure.WITHIN_NOISE,
    )


def _slope(points: Points) -> float | None:
    """Return the slope in bytes per client, by least squares; `None` for one count of clients."""
    counts = [count for count, _ in points]
    count_mean, bytes_mean = mean(counts) or 0.0, mean([size for _, size in points]) or 0.0
    spread = sum((count - count_mean) ** 2 for count in counts)
    covariation = sum((count - count_mean) * (size - bytes_mean) for count, size in points)
    return covariation / spread if spread else None


def _estimate(slopes: Sequence[float]) -> tuple[float | None, Interval]:
    exact = signed_rank_interval(slopes, LEVEL)
    if exact.low is not None:
        return pseudo_median(slopes), exact
    centre = mean(slopes) or 0.0
    reach = t_quantile((1 + LEVEL) / 2, len(slopes) - 1) * stdev(slopes) / math.sqrt(len(slopes))
    return centre, Interval(centre - reach, centre + reach, LEVEL)
