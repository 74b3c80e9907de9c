"""Who is connected, and who of them gets a notification: one piece of code for all transports.

    broker --deliver--> Fanout --send (one call per transport)--> framing --> connections

Transports differ in framing only. The plain way of the libraries is used here: a queue and a green thread for each
client, whose lengths are bounded by us because the libraries do not bound them.
"""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from collections.abc import Sequence
from typing import Protocol

from app.broker.base import Broker, Filter, Replay
from app.core.notification import Notification
from app.core.position import Position
from app.core.wire import TRANSPORTS

CLOSED_BY_CLIENT = "client_closed"
CLOSED_SLOW = "slow_consumer"
CLOSED_DRAIN = "server_drain"


class Connection(Protocol):
    """One subscriber's open connection, as a transport made it."""

    wanted: Filter

    def start(self, replay: Replay) -> None:
        """Take what was missed; called once, before anything live."""
        ...

    def close(self, reason: str) -> None:
        """End it from our side. Must not block."""
        ...


class Framing(Protocol):
    """A transport's part of a broadcast."""

    def send(self, notification: Notification, connections: Sequence[Connection]) -> None:
        """Frame once and hand the same bytes to each. Must not block, must not raise for a connection that left."""
        ...


class TooManyConnections(Exception):
    """The process holds as many subscriptions as it may."""


class Fanout:
    """The connections of this process. All methods may be called from any thread."""

    def __init__(self, broker: Broker, *, connections_max: int) -> None:
        self._broker = broker
        self._connections_max = connections_max
        self._framings: dict[str, Framing] = {}
        self._connections: dict[Connection, None] = {}
        """An ordered set: connections are served in the order in which they came."""
        self._lock = threading.RLock()
        self._rotation = itertools.count()
        self.closed: Counter[tuple[str, str]] = Counter()
        """Ended connections by (transport, reason)."""
        self.sent: Counter[str] = Counter()
        """Deliveries handed to connections, by transport."""
        broker.listen(self.deliver)

    def register(self, transport: str, framing: Framing) -> None:
        """Make a transport known by its name."""
        self._framings[transport] = framing

    def subscribe(self, connection: Connection, since: Position | None) -> None:
        """From here on `connection` gets what it wants: the missed first, then everything live, nothing twice.

        Raises `TooManyConnections`.
        """
        with self._lock:
            if len(self._connections) >= self._connections_max:
                raise TooManyConnections

        def start(replay: Replay) -> None:
            connection.start(replay)
            with self._lock:
                self._connections[connection] = None

        self._broker.attach(since, connection.wanted, start)

    def is_full(self) -> bool:
        """Whether one more subscription would be refused."""
        with self._lock:
            return len(self._connections) >= self._connections_max

    def unsubscribe(self, connection: Connection, reason: str) -> None:
        """Forget a connection; only the first reason counts."""
        with self._lock:
            if self._connections.pop(connection, 0) is None:
                self.closed[connection.wanted.transport, reason] += 1

    def deliver(self, notification: Notification) -> dict[str, int]:
        """Hand a notification to every connection that it matches; answers how many, by transport.

        Each call starts with another connection, so that over time nobody is always last
        (measurement.md section 2: delay grows with the position in a broadcast).
        """
        with self._lock:
            matching: dict[str, list[Connection]] = {name: [] for name in TRANSPORTS}
            for connection in self._connections:
                if connection.wanted.matches(notification):
                    matching[connection.wanted.transport].append(connection)
        turn = next(self._rotation)
        for transport, connections in matching.items():
            if connections:
                first = turn % len(connections)
                self._framings[transport].send(notification, connections[first:] + connections[:first])
                self.sent[transport] += len(connections)
        return {name: len(connections) for name, connections in matching.items()}

    def counts(self) -> dict[str, int]:
        """Open connections by transport."""
        with self._lock:
            found = Counter(connection.wanted.transport for connection in self._connections)
        return {name: found[name] for name in TRANSPORTS}

    def drain(self) -> None:
        """End every connection from our side; they come back to whoever serves next."""
        with self._lock:
            leaving = list(self._connections)
        for connection in leaving:
            self.unsubscribe(connection, CLOSED_DRAIN)
            connection.close(CLOSED_DRAIN)
