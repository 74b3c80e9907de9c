"""Plan of a bench: servers, transports, levels, repetitions, and the expected duration."""

from __future__ import annotations

from dataclasses import dataclass, replace

from app.core.wire import TRANSPORT_SSE, TRANSPORTS

FLOOR = "floor"
STOCK = "stock"
DIRECT = "direct"
SEND = "send"
SERVERS = (FLOOR, STOCK, DIRECT)
SERVERS_TO_NAME = (*SERVERS, SEND)
"""Servers that can be selected. `send` is `direct` with one `send` per connection, without io_uring; not a default."""

PARTS = ("paced", "burst", "memory", "connect", "cost")

PACED_MAX = 5_000
"""Above it, only the cost is measured: delays need a period longer than the slowest server's fan-out."""

REPETITIONS_JUDGED_MIN = 5
"""With fewer repetitions, a ratio of medians is shown, but not judged."""

IDLE_REPETITIONS_JUDGED_MIN = 2
"""Memory differs little between two starts of the same program, and takes long to measure."""

STOCK_BURST_EVERY = 9
"""Stock takes part in every n-th round of a burst: its windows take ten times as long, and nothing is promised of
it."""

_START_S = {FLOOR: 0.4, STOCK: 1.7, DIRECT: 1.7, SEND: 1.7}
_CONNECTS_PER_S = 6_000
_BURST_RATE = {FLOOR: 150_000, STOCK: 35_000, DIRECT: 300_000, SEND: 300_000}
_COMMAND_S = 0.25
"""Duration of a cell in addition to its notifications: warm-up, start and end, closing of connections."""
_WINDOW_S = 0.1
"""Duration of a burst's window in addition to its notifications: start and end, and adding up its reads."""


@dataclass(frozen=True, slots=True)
class Level:
    """Parameters of one paced cell."""

    subscribers: int
    period_s: float
    notifications: int

    @property
    def duration_s(self) -> float:
        """Duration from the first publish to the end of the last period."""
        return self.period_s * self.notifications


@dataclass(frozen=True, slots=True)
class BenchPlan:
    """Parameters of a whole run."""

    servers: tuple[str, ...] = SERVERS
    transports: tuple[str, ...] = TRANSPORTS
    parts: tuple[str, ...] = PARTS
    levels: tuple[int, ...] = (100, 1_000, 5_000, 10_000)
    repetitions: int = 5
    seconds: float = 1.8
    """Minimum duration of a paced cell, which has at least three notifications (two if only the cost counts)."""
    burst_rounds: int = 18
    burst_notifications: int = 50
    """Notifications per server and round."""
    burst_warm_up: int = 10
    """Notifications before those, not measured: the first ones run with cold caches."""
    burst_subscribers: int = 1_000
    idle_connections: int = 5_000
    idle_repetitions: int = IDLE_REPETITIONS_JUDGED_MIN
    """Repetitions of the cells that measure memory."""

    def paced_levels(self, server: str) -> list[Level]:
        """Return the paced cells, the largest first, so that connections are only closed between them.

        Levels that measure only the cost leave out stock: it would take longest, and nothing is promised of it.
        """
        has_all = "cost" in self.parts and server != STOCK
        wanted = [each for each in self.levels if has_all or each <= PACED_MAX]
        if not {"paced", "cost"} & set(self.parts):
            wanted = []
        return [self._level(each) for each in sorted(wanted, reverse=True)]

    def _level(self, subscribers: int) -> Level:
        period_s = 0.3 if subscribers <= 1_000 else 1.0 if subscribers <= PACED_MAX else 2.0
        at_least = 3 if subscribers <= PACED_MAX else 2
        return Level(subscribers, period_s, max(at_least, round(self.seconds / period_s)))

    def takes_part(self, server: str, number: int) -> bool:
        """Return whether a server has a window in this round of a burst."""
        return server != STOCK or number % STOCK_BURST_EVERY == 0

    def burst_level(self) -> int | None:
        """Return the number of subscribers in bursts; `None` if there are none."""
        return self.burst_subscribers if "burst" in self.parts else None

    def connect_level(self) -> int | None:
        """Return the number of connections for measuring the rate of accepting; `None` if it is not measured."""
        return min(max(self.levels), PACED_MAX) if "connect" in self.parts else None

    def idle_count(self) -> int:
        """Return the number of repetitions of the cells that measure memory."""
        return min(self.idle_repetitions, self.repetitions) if "memory" in self.parts else 0

    def connections_max(self) -> int:
        """Return the largest number of connections that are open at a time."""
        wanted = [level.subscribers for server in self.servers for level in self.paced_levels(server)]
        wanted += [self.burst_level() or 0, self.connect_level() or 0]
        return max(*wanted, round(1.2 * self.idle_connections) if "memory" in self.parts else 0)

    def expected_s(self) -> float:
        """Return the approximate duration."""
        return len(self.transports) * sum(
            self.repetitions * (self._session_s(server) + self._burst_s(server))
            + self.idle_count() * self._idle_s(server)
            for server in self.servers
        )

    def _session_s(self, server: str) -> float:
        levels = self.paced_levels(server)
        if not levels and self.connect_level() is None:
            return 0.0
        connects = max([level.subscribers for level in levels] + [self.connect_level() or 0])
        return (
            _START_S[server]
            + (connects + (self.connect_level() or 0)) / _CONNECTS_PER_S
            + sum(level.duration_s + _COMMAND_S for level in levels)
        )

    def _burst_s(self, server: str) -> float:
        if self.burst_level() is None:
            return 0.0
        windows = 2 * sum(self.takes_part(server, number) for number in range(self.burst_rounds))
        count = (self.burst_warm_up + self.burst_notifications) * self.burst_subscribers
        return (
            _START_S[server]
            + self.burst_subscribers / _CONNECTS_PER_S
            + 2 * _COMMAND_S
            + windows * (count / _BURST_RATE[server] + _WINDOW_S)
        )

    def _idle_s(self, server: str) -> float:
        return _START_S[server] + self.idle_connections * 1.4 / _CONNECTS_PER_S + 6.0


def quick(plan: BenchPlan) -> BenchPlan:
    """Return a smaller plan with one repetition, for about a minute."""
    return replace(
        plan,
        levels=tuple(each for each in plan.levels if each <= 1_000) or plan.levels[:1],
        repetitions=1,
        seconds=0.9,
        burst_rounds=2,
        burst_notifications=20,
        burst_warm_up=5,
        idle_connections=1_000,
        idle_repetitions=1,
    )


def transport_title(transport: str) -> str:
    """Return the transport's name for people."""
    return "SSE" if transport == TRANSPORT_SSE else "Socket.IO"
