"""Levels: the trials of a transport with one number of users, and every figure that a gate can name.

Delays are pooled over the trials that only the server can have impaired (`invalid_rules.py`), and are kernel delays.
Losses and errors are counted over all trials, because what is lost is lost. A tail of fewer than 100 broadcasts
describes only these (`measurement.md`, section 4): it is marked, and a gate uses it unchanged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from app.core.client import POLLING
from app.core.messages import Message
from app.core.wire import TRANSPORTS
from app.lab.analysis.metrics.trial_metrics import broadcasts_min
from app.lab.analysis.statistics.quantile import median, quantile
from app.lab.analysis.words import TRANSPORT_TITLES
from app.tools.load.delays import Delays, merged_delays
from app.tools.load.floors import Floors, floors_of
from app.tools.load.trial_line import FloorLine, TrialLine


def title_of(arm: str) -> str:
    """Return the title of the transport for an arm that is named like a transport; any other name unchanged."""
    return TRANSPORT_TITLES.get(arm, arm)


@dataclass(frozen=True)
class Level:
    """The trials of one arm with one number of users."""

    arm: str
    transport: str
    users: int
    trials: tuple[TrialLine, ...]
    cpu_per_delivery_us: float | None = None
    """The server's CPU above idle; median of the trials."""
    floors: Floors | None = None
    """The generator's floors at this level."""
    visit: int = 0
    """0-based number of the visit to this level, which a spike comes to more than once."""

    @property
    def title(self) -> Message:
        """The level in words."""
        key = "load.where_again" if self.visit else "load.where"
        return Message(key, {"arm": title_of(self.arm), "users": self.users})

    @cached_property
    def valid_trials(self) -> tuple[TrialLine, ...]:
        """The trials whose delays only the server can have impaired."""
        return tuple(each for each in self.trials if each.is_believable)

    @cached_property
    def delays(self) -> Delays:
        """The delays of those trials, merged."""
        return merged_delays(each.delays for each in self.valid_trials)

    @property
    def broadcasts(self) -> int:
        """Number of measured notifications that the delays are based on."""
        return sum(each.notifications for each in self.valid_trials)

    @property
    def remarks(self) -> tuple[Message, ...]:
        """Remarks on the delays for the reader that invalidate nothing."""
        share = self.delays.unstamped_share
        if not share:
            return ()
        return (Message("load.unstamped", {"where": self.title, "percent": 100 * share}),)

    def supports(self, share: float) -> bool:
        """Return whether the number of broadcasts suffices for a quantile to be representative."""
        return share <= 0.5 or self.broadcasts >= broadcasts_min(share)

    def total(self, count: Callable[[TrialLine], int]) -> int:
        """Return the sum of a count over all trials."""
        return sum(map(count, self.trials))

    @property
    def connect_ms(self) -> list[float]:
        """Duration of each successful handshake."""
        return [us / 1000 for each in self.trials for us in each.connect_us]

    @property
    def failures(self) -> Mapping[str, int]:
        """Numbers of failed handshakes by reason, over all trials."""
        failures: Counter[str] = Counter()
        for each in self.trials:
            failures.update(each.failures)
        return dict(failures)


@dataclass(frozen=True, slots=True)
class LevelFigure:
    """A figure of a level, with its unit."""

    of: Callable[[Level], float | None]
    unit: str


def _delay(share: float) -> LevelFigure:
    return LevelFigure(lambda level: level.delays.kernel.quantile_ms(share), "ms")


def _handler(share: float) -> LevelFigure:
    return LevelFigure(lambda level: level.delays.application.quantile_ms(share), "ms")


def _connect(share: float) -> LevelFigure:
    return LevelFigure(lambda level: quantile(level.connect_ms, share), "ms")


def _count(count: Callable[[TrialLine], int]) -> LevelFigure:
    return LevelFigure(lambda level: level.total(count) if level.trials else None, "")


def _percent(part: Callable[[TrialLine], int], whole: Callable[[TrialLine], int]) -> LevelFigure:
    def share(level: Level) -> float | None:
        total = level.total(whole)
        return 100 * level.total(part) / total if total else None

    return LevelFigure(share, "%")


def _spike_percent(level: Level) -> float | None:
    delays = level.delays
    return 100 * delays.spikes / delays.arrivals if delays.arrivals else None


def _unstamped_percent(level: Level) -> float | None:
    share = level.delays.unstamped_share
    return None if share is None else 100 * share


def _connected_percent(level: Level) -> float | None:
    shares = [100 * each.connected / each.users for each in level.trials if each.users]
    return min(shares, default=None)


def _core_percent(level: Level) -> float | None:
    return median([each.cpu_core_percent for each in level.trials if each.cpu_core_percent is not None])


FIGURES: Mapping[str, LevelFigure] = {
    "delay_ms_p50": _delay(0.50),
    "delay_ms_p95": _delay(0.95),
    "delay_ms_p99": _delay(0.99),
    "delay_ms_max": LevelFigure(
        lambda level: level.delays.max_us / 1000 if level.delays.arrivals else None, "ms"
    ),
    "delay_ms_mean": LevelFigure(lambda level: level.delays.kernel.mean_ms, "ms"),
    "handler_delay_ms_p50": _handler(0.50),
    "handler_delay_ms_p95": _handler(0.95),
    "handler_delay_ms_p99": _handler(0.99),
    "spike_percent": LevelFigure(_spike_percent, "%"),
    "unstamped_percent": LevelFigure(_unstamped_percent, "%"),
    "lost": _count(lambda each: each.lost),
    "lost_percent": _percent(lambda each: each.lost, lambda each: each.expected),
    "late": _count(lambda each: each.late),
    "duplicates": _count(lambda each: each.duplicates),
    "out_of_order": _count(lambda each: each.out_of_order),
    "replayed": _count(lambda each: each.replayed),
    "errors": _count(lambda each: each.errors),
    "error_percent": _percent(lambda each: sum(each.failures.values()), lambda each: each.attempts),
    "disconnects": _count(lambda each: each.disconnects),
    "connect_ms_p50": _connect(0.50),
    "connect_ms_p95": _connect(0.95),
    "connect_ms_p99": _connect(0.99),
    "connected_percent": LevelFigure(_connected_percent, "%"),
    "cpu_per_delivery_us": LevelFigure(lambda level: level.cpu_per_delivery_us, "us"),
    "cpu_core_percent": LevelFigure(_core_percent, "%"),
}
"""All figures, by their names in gates and results."""


def levels_of(
    lines: Sequence[TrialLine],
    floors: Sequence[FloorLine] = (),
    cpu_us: Mapping[tuple[str, int], float | None] | None = None,
    *,
    by_visit: bool = False,
) -> tuple[Level, ...]:
    """Group trials into levels, in ascending order of users, then by transport. `cpu_us`: by arm and users.

    `by_visit`: keep the order of time; a level that was visited twice appears twice.
    """
    floor_of = floors_of(floors)
    found: dict[tuple[int, str, int], list[TrialLine]] = {}
    for line in lines:
        found.setdefault((line.users, line.arm, line.block if by_visit else 0), []).append(line)
    return tuple(
        Level(
            arm,
            trials[0].transport,
            users,
            tuple(trials),
            (cpu_us or {}).get((arm, users)),
            # The minimal server does not support polling, so its floor says nothing about users who poll.
            None if arm == POLLING else floor_of.get((trials[0].transport, users)),
            visit,
        )
        for (users, arm, visit), trials in (found.items() if by_visit else sorted(found.items(), key=_place))
    )


def _place(found: tuple[tuple[int, str, int], list[TrialLine]]) -> tuple[int, int, str]:
    (users, arm, _visit), trials = found
    return users, TRANSPORTS.index(trials[0].transport), arm
