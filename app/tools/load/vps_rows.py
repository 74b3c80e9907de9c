"""Rows of the VPS study's Tables 3 and 4: the name in the study, and the run's figure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from app.core.messages import Message
from app.lab.analysis.statistics.quantile import mean, median, quantile
from app.tools.load.levels import FIGURES, Level
from app.tools.load.probe_line import Probed
from app.tools.load.probing import NO_CACHE


@dataclass(frozen=True, slots=True)
class FigureCell:
    """One configuration with one number of users: its trials and their probes."""

    level: Level
    probes: tuple[Probed, ...]
    valid_probes: tuple[Probed, ...]
    """Probes of trials whose delays only the server can have impaired. Durations use these; counts use all windows."""
    rate_hz: float
    redis_cpu_us: tuple[float, ...] = ()
    """CPU time of Redis per notification that reached a user, for each valid trial."""

    def total(self, count: Callable[[Probed], int]) -> int:
        """Return the sum of a count over all windows."""
        return sum(map(count, self.probes))

    def ms(self, durations_us: Callable[[Probed], Sequence[int]]) -> list[float]:
        """Return durations in milliseconds."""
        return [us / 1000 for each in self.valid_probes for us in durations_us(each)]

    def answers(self, outcome: str) -> int:
        """Return the number of answers with one outcome."""
        return self.total(lambda each: len(each.answers_us.get(outcome, ())))

    def answers_ms(self, outcome: str) -> list[float]:
        """Return the durations of answers about history with one outcome."""
        return self.ms(lambda each: each.answers_us.get(outcome, ()))

    def in_server_ms(self, outcome: str) -> float | None:
        """Return the mean of the server's own time for answers with one outcome."""
        totals = [each.in_server_s[outcome] for each in self.valid_probes if outcome in each.in_server_s]
        count = sum(n for n, _ in totals)
        return 1000 * sum(seconds for _, seconds in totals) / count if count else None


SERVER_CPU, REDIS_CPU = "load.r_cpu_server", "load.r_cpu_redis"
"""CPU time per notification that reached a user. The terminal has no room for longer titles."""

Figure = Callable[[FigureCell], float | None]
Row = tuple[str | None, str, str, Figure]
"""Key in the published data (`None`: not published), key of the title, unit, and the run's figure."""


def _gate(name: str) -> Figure:
    return lambda cell: FIGURES[name].of(cell.level)


def _share(part: Callable[[FigureCell], int], whole: Callable[[FigureCell], int]) -> Figure:
    """Return a figure: the quotient, or `None` for 0 of 0."""
    return lambda cell: part(cell) / whole(cell) if whole(cell) else None


def _spikes(cell: FigureCell) -> int:
    return cell.level.delays.spikes


def _arrived(cell: FigureCell) -> int:
    return cell.level.delays.arrivals


def _deliveries_per_s(cell: FigureCell) -> float | None:
    seconds = cell.level.total(lambda each: each.notifications) / cell.rate_hz
    delivered = cell.level.total(lambda each: each.expected - each.lost)
    return delivered / seconds if seconds else None


def _mean_of(values: Callable[[FigureCell], list[float]]) -> Figure:
    return lambda cell: mean(values(cell))


def _p95_of(values: Callable[[FigureCell], list[float]]) -> Figure:
    return lambda cell: quantile(values(cell), 0.95)


STRESS: tuple[Row, ...] = (
    ("delivery_ms_mean", "study.row.delivery_mean", "ms", _gate("delay_ms_mean")),
    ("delivery_ms_p50", "study.row.delivery_p50", "ms", _gate("delay_ms_p50")),
    ("delivery_ms_p95", "study.row.delivery_p95", "ms", _gate("delay_ms_p95")),
    ("delivery_ms_max", "study.row.delivery_longest", "ms", _gate("delay_ms_max")),
    (
        "spikes_over_500ms_count",
        "study.row.over_500_ms",
        "deliveries",
        lambda cell: _spikes(cell) if _arrived(cell) else None,
    ),
    ("spikes_over_500ms_rate", "study.row.over_500_ms_rate", "share", _share(_spikes, _arrived)),
    ("broadcast_messages_per_s", "unit.deliveries", "1/s", _deliveries_per_s),
    (
        "real_errors_rate",
        "study.row.errors_lost",
        "share",
        _share(
            lambda cell: cell.level.total(lambda each: each.lost),
            lambda cell: cell.level.total(lambda each: each.expected),
        ),
    ),
    (
        "connections_max",
        "unit.connections",
        "clients",
        lambda cell: min((each.connected for each in cell.level.trials), default=None),
    ),
    ("handshake_ms_p50", "study.row.handshake_set_up_median", "ms", _gate("connect_ms_p50")),
    (None, "load.r_handshake", "ms", _gate("connect_ms_p95")),
    (
        "redis_round_trip_ms_mean",
        "study.row.redis_round_trip_mean",
        "ms",
        _mean_of(lambda cell: cell.ms(lambda each: each.ping_us)),
    ),
    (
        "event_loop_ms_mean",
        "study.row.event_loop_mean",
        "ms",
        _mean_of(lambda cell: cell.ms(lambda each: each.loop_us)),
    ),
    (None, "load.r_loop", "ms", _p95_of(lambda cell: cell.ms(lambda each: each.loop_us))),
    (
        "http_failure_rate",
        "study.row.http_failures",
        "share",
        _share(
            lambda cell: cell.total(lambda each: each.failed),
            lambda cell: cell.total(lambda each: each.asked),
        ),
    ),
    (None, "load.r_requests", "count", lambda cell: cell.total(lambda each: each.asked)),
    (None, SERVER_CPU, "us", _gate("cpu_per_delivery_us")),
    (None, REDIS_CPU, "us", lambda cell: median(cell.redis_cpu_us) if cell.redis_cpu_us else None),
)
"""The study's Table 3."""


def _answers(outcome: str) -> Callable[[FigureCell], list[float]]:
    return lambda cell: cell.answers_ms(outcome)


CACHE: tuple[Row, ...] = (
    ("miss_ms_mean", "study.row.cache_miss_mean", "ms", _mean_of(_answers("miss"))),
    ("miss_ms_p95", "study.row.cache_miss_p95", "ms", _p95_of(_answers("miss"))),
    ("hit_ms_mean", "study.row.cache_hit_mean", "ms", _mean_of(_answers("hit"))),
    ("hit_ms_p95", "study.row.cache_hit_p95", "ms", _p95_of(_answers("hit"))),
    (None, "load.r_uncached", "ms", _mean_of(_answers(NO_CACHE))),
    (None, "load.r_uncached_p95", "ms", _p95_of(_answers(NO_CACHE))),
    (None, "load.r_miss", "ms", lambda cell: cell.in_server_ms("miss")),
    (None, "load.r_hit", "ms", lambda cell: cell.in_server_ms("hit")),
    (
        None,
        "load.r_hits",
        "share",
        _share(lambda cell: cell.answers("hit"), lambda cell: cell.answers("hit") + cell.answers("miss")),
    ),
    (
        "requests_per_s",
        "study.row.requests",
        "1/s",
        lambda cell: (
            cell.total(lambda each: each.asked) / sum(each.seconds for each in cell.probes)
            if cell.probes
            else None
        ),
    ),
)
"""The study's Table 4."""

STRESS_NOTE = Message("load.stress_note")
CACHE_NOTE = Message("load.cache_note")
