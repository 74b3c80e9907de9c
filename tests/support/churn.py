"""Long-lived subscribers of which some leave and reconnect all the time, without missing anything."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

from tests.support.server import RunningServer
from tests.support.subscriber import EVENT_PROTOCOLS, Ledger
from tests.support.swarm import Subscriber, Swarm

AWAY_S_MAX = 5.0
"""Maximum time for which a client stays away; history reaches much further back."""

CONNECTING_MAX = 200
"""Number of concurrent handshakes."""

CHECK_S = 1.0
"""Interval between checks for clients that the server disconnected."""


class BriefLedger(Ledger):
    """A ledger that merges consecutive offsets, so that it does not grow over hours."""

    def note(self, kind: str, argument: dict[str, Any]) -> None:
        """Record a notification or gap, and merge it with the last run if it continues it."""
        super().note(kind, argument)
        if len(self.ranges) > 1 and self.ranges[-1][0] == self.ranges[-2][1] + 1:
            self.ranges[-2:] = [(self.ranges[-2][0], self.ranges[-1][1])]


class Churn:
    """Clients of each transport, a share of which leaves per minute."""

    def __init__(
        self, swarm: Swarm, server: RunningServer, *, each: int, share_per_minute: float, seed: int = 1
    ) -> None:
        self.clients = [
            Subscriber(swarm, server, transport) for transport in EVENT_PROTOCOLS for _ in range(each)
        ]
        for client in self.clients:
            client.ledger = BriefLedger()
        self.counts: Counter[str] = Counter()
        """Numbers of departures by kind, including disconnections by the server."""
        self._swarm = swarm
        self._dice = random.Random(seed)
        self._rate_hz = len(self.clients) * share_per_minute / 60
        self._away: set[Subscriber] = set()
        self._is_running = False

    def gather(self, *, timeout_s: float) -> None:
        """Connect all clients, a few hundred at a time."""
        deadline_s = time.monotonic() + timeout_s
        for client in self.clients:
            client.connect()
            left_s = deadline_s - time.monotonic()
            is_calm = self._swarm.run(lambda: self._connecting_count() < CONNECTING_MAX, left_s)
            assert is_calm, f"{self._connecting_count()} wait to be let in"
        assert self._swarm.run(lambda: not self._connecting_count(), deadline_s - time.monotonic()), (
            "not all are in"
        )

    def begin(self) -> None:
        """Begin departures and reconnections."""
        self._is_running = True
        self._swarm.after(self._pause_s(), self._disconnect_one)
        self._swarm.after(CHECK_S, self._check)

    def settle(self, through: int, *, timeout_s: float) -> None:
        """Stop departures, and wait until all clients are back and have everything up to that offset."""
        self._rate_hz = 0.0
        done = self._swarm.run(
            lambda: not self._away and all(each.ledger.through >= through for each in self.clients), timeout_s
        )
        self._is_running = False
        behind = [each for each in self.clients if each.ledger.through < through]
        assert done, f"{len(behind)} of {len(self.clients)} have not got everything; {dict(self.counts)}"

    def leave(self) -> None:
        """Disconnect all clients, half of them with a reset."""
        for client in self.clients:
            client.leave(reset=self._dice.random() < 0.5)

    def faults(self) -> list[str]:
        """Return the clients with duplicates, disorder, losses or gaps."""
        return [
            f"{each.transport}: {each.ledger.faults()}, {each.ledger.gap_count} gaps"
            for each in self.clients
            if each.ledger.faults() or each.ledger.gap_count
        ]

    def _connecting_count(self) -> int:
        return sum(each.is_connected and each.ledger.first is None for each in self.clients)

    def _disconnect_one(self) -> None:
        if not self._rate_hz:
            return
        client = self._dice.choice(self.clients)
        if client.is_connected:
            how = self._dice.choice(["reset", "closed"])
            self.counts[how] += 1
            client.leave(reset=how == "reset")
            self._reconnect_later(client)
        self._swarm.after(self._pause_s(), self._disconnect_one)

    def _check(self) -> None:
        if not self._is_running:
            return
        for client in self.clients:
            if not client.is_connected and client not in self._away:
                self.counts["cut off by the server"] += 1
                self._reconnect_later(client)
        self._swarm.after(CHECK_S, self._check)

    def _reconnect_later(self, client: Subscriber) -> None:
        self._away.add(client)

        def reconnect() -> None:
            self._away.discard(client)
            client.connect()

        self._swarm.after(self._dice.uniform(0, AWAY_S_MAX), reconnect)

    def _pause_s(self) -> float:
        """Return a random interval of a Poisson process, so that departures are independent."""
        return self._dice.expovariate(self._rate_hz)


def drafts_until(end_s: float) -> Iterator[dict[str, str]]:
    """Yield notifications until that time of the monotonic clock."""
    number = 0
    while time.monotonic() < end_s:
        number += 1
        yield {"title": f"{number}", "body": "x" * 100}
