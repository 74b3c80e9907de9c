"""What a bench does, fixed before it begins: servers, transports, levels, how often, and how long that will take."""

from __future__ import annotations

from dataclasses import dataclass, replace

from app.core.wire import TRANSPORT_SSE, TRANSPORTS

FLOOR = "floor"
STOCK = "stock"
DIRECT = "direct"
SEND = "send"
SERVERS = (FLOOR, STOCK, DIRECT)
SERVERS_TO_NAME = (*SERVERS, SEND)
"""The last one only where it is asked for: `direct` with a `send` for each connection, without io_uring."""

PARTS = ("paced", "burst", "memory", "connect", "cost")

PACED_MAX = 5_000
"""Beyond it only the cost is of interest: a period must stay longer than what the slowest server needs."""

REPETITIONS_JUDGED_MIN = 5
"""A ratio of medians over fewer repetitions is shown and not judged."""

IDLE_REPETITIONS_JUDGED_MIN = 2
"""Memory hardly differs between two starts of the same program, and takes long to measure."""

STOCK_BURST_PART = 4

_START_S = {FLOOR: 0.4, STOCK: 2.0, DIRECT: 2.0, SEND: 2.0}
_CONNECTS_PER_S = 4_000
_BURST_RATE = {FLOOR: 150_000, STOCK: 25_000, DIRECT: 250_000, SEND: 250_000}
_COMMAND_S = 0.25
"""What a cell costs beside its own time: warm-up, edges, closing of connections."""


@dataclass(frozen=True, slots=True)
class Level:
    """One paced cell."""

    subscribers: int
    period_s: float
    notifications: int

    @property
    def duration_s(self) -> float:
        """From the first publish to the end of the last period."""
        return self.period_s * self.notifications


@dataclass(frozen=True, slots=True)
class BenchPlan:
    """A whole run."""

    servers: tuple[str, ...] = SERVERS
    transports: tuple[str, ...] = TRANSPORTS
    parts: tuple[str, ...] = PARTS
    levels: tuple[int, ...] = (100, 1_000, 5_000, 10_000)
    repetitions: int = 5
    seconds: float = 1.8
    """Of a paced cell at least; and never fewer than three notifications (two where only the cost counts)."""
    burst_notifications: int = 600
    """Their p99 is then that of some six rounds: with a quarter of that, one pause of the machine decided it. Stock, whose
    bursts take five times as long and whose p99 is not judged, gets a quarter."""
    burst_subscribers: int = 1_000
    idle_connections: int = 5_000
    idle_repetitions: int = IDLE_REPETITIONS_JUDGED_MIN
    """Of the cells that measure memory."""

    def paced_levels(self, server: str) -> list[Level]:
        """Cells with paced notifications, the largest first: connections only leave from one to the next.

        Where only the cost counts, stock is left out: it would take longest, and nothing is promised of it.
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

    def burst_count(self, server: str) -> int:
        """Notifications of a cell that publishes back to back."""
        return (
            max(1, self.burst_notifications // STOCK_BURST_PART)
            if server == STOCK
            else self.burst_notifications
        )

    def burst_level(self) -> int | None:
        """Subscribers of the cells that publish back to back."""
        return self.burst_subscribers if "burst" in self.parts else None

    def connect_level(self) -> int | None:
        """Connections of the cell that counts how many are accepted per second."""
        return min(max(self.levels), PACED_MAX) if "connect" in self.parts else None

    def idle_count(self) -> int:
        """Repetitions of the cells that measure memory."""
        return min(self.idle_repetitions, self.repetitions) if "memory" in self.parts else 0

    def connections_max(self) -> int:
        """The most that are open at a time."""
        wanted = [level.subscribers for server in self.servers for level in self.paced_levels(server)]
        wanted += [self.burst_level() or 0, self.connect_level() or 0]
        return max(*wanted, round(1.2 * self.idle_connections) if "memory" in self.parts else 0)

    def expected_s(self) -> float:
        """About how long it takes."""
        return len(self.transports) * sum(
            self.repetitions * self._visit_s(server) + self.idle_count() * self._idle_s(server)
            for server in self.servers
        )

    def _visit_s(self, server: str) -> float:
        levels = self.paced_levels(server)
        if not levels and self.burst_level() is None and self.connect_level() is None:
            return 0.0
        connects = max([level.subscribers for level in levels] + [self.burst_level() or 0])
        bursts = 2 * self.burst_count(server) * self.burst_subscribers / _BURST_RATE[server]
        return (
            _START_S[server]
            + (connects + (self.connect_level() or 0)) / _CONNECTS_PER_S
            + sum(level.duration_s + _COMMAND_S for level in levels)
            + (bursts + 2 * _COMMAND_S if "burst" in self.parts else 0.0)
        )

    def _idle_s(self, server: str) -> float:
        return _START_S[server] + self.idle_connections * 1.4 / _CONNECTS_PER_S + 6.0


def quick(plan: BenchPlan) -> BenchPlan:
    """About a minute: one repetition, smaller."""
    return replace(
        plan,
        levels=tuple(each for each in plan.levels if each <= 1_000) or plan.levels[:1],
        repetitions=1,
        seconds=0.9,
        burst_notifications=30,
        idle_connections=1_000,
        idle_repetitions=1,
    )


def transport_title(transport: str) -> str:
    """As a person writes it."""
    return "SSE" if transport == TRANSPORT_SSE else "Socket.IO"
