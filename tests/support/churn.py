"""A crowd that listens for hours while some of it leaves and comes back all the time; nobody may miss anything."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

from tests.support.server import RunningServer
from tests.support.swarm import Subscriber, Swarm
from tests.support.talks import TALKS, Ledger

AWAY_S_MAX = 5.0
"""How long somebody stays away; history reaches much further back."""

AT_ONCE = 200
"""Handshakes under way."""

LOOK_S = 1.0
"""Between two looks for those whom the server has cut off."""


class BriefLedger(Ledger):
    """A ledger that folds what it heard as long as it is unbroken, so that it does not grow with the hours."""

    def note(self, kind: str, argument: dict[str, Any]) -> None:
        """A notification or a gap came."""
        super().note(kind, argument)
        if len(self.heard) > 1 and self.heard[-1][0] == self.heard[-2][1] + 1:
            self.heard[-2:] = [(self.heard[-2][0], self.heard[-1][1])]


class Churn:
    """So many clients of each transport, of whom a share leaves each minute."""

    def __init__(
        self, swarm: Swarm, server: RunningServer, *, each: int, share_per_minute: float, seed: int = 1
    ) -> None:
        self.clients = [Subscriber(swarm, server, transport) for transport in TALKS for _ in range(each)]
        for client in self.clients:
            client.ledger = BriefLedger()
        self.counts: Counter[str] = Counter()
        """Who left and how, and who was cut off."""
        self._swarm = swarm
        self._dice = random.Random(seed)
        self._rate_hz = len(self.clients) * share_per_minute / 60
        self._away: set[Subscriber] = set()
        self._goes_on = False

    def gather(self, *, timeout_s: float) -> None:
        """Let all of them in, some hundred at a time."""
        deadline_s = time.monotonic() + timeout_s
        for client in self.clients:
            client.connect()
            left_s = deadline_s - time.monotonic()
            is_calm = self._swarm.run(lambda: self._on_their_way() < AT_ONCE, left_s)
            assert is_calm, f"{self._on_their_way()} wait to be let in"
        assert self._swarm.run(lambda: not self._on_their_way(), deadline_s - time.monotonic()), (
            "not all are in"
        )

    def begin(self) -> None:
        """From now on they come and go."""
        self._goes_on = True
        self._swarm.after(self._pause_s(), self._send_one_away)
        self._swarm.after(LOOK_S, self._look)

    def settle(self, through: int, *, timeout_s: float) -> None:
        """Nobody leaves any more; wait until everybody is back and has all up to that offset."""
        self._rate_hz = 0.0
        done = self._swarm.run(
            lambda: not self._away and all(each.ledger.through >= through for each in self.clients), timeout_s
        )
        self._goes_on = False
        behind = [each for each in self.clients if each.ledger.through < through]
        assert done, f"{len(behind)} of {len(self.clients)} have not got everything; {dict(self.counts)}"

    def leave(self) -> None:
        """All of them, half of them without a goodbye."""
        for client in self.clients:
            client.leave(reset=self._dice.random() < 0.5)

    def faults(self) -> list[str]:
        """Who had something twice, out of order or not at all, and who was told of a gap."""
        return [
            f"{each.transport}: {each.ledger.faults()}, {each.ledger.gap_count} gaps"
            for each in self.clients
            if each.ledger.faults() or each.ledger.gap_count
        ]

    def _on_their_way(self) -> int:
        return sum(each.is_connected and each.ledger.first is None for each in self.clients)

    def _send_one_away(self) -> None:
        if not self._rate_hz:
            return
        client = self._dice.choice(self.clients)
        if client.is_connected:
            how = self._dice.choice(["reset", "closed"])
            self.counts[how] += 1
            client.leave(reset=how == "reset")
            self._back_later(client)
        self._swarm.after(self._pause_s(), self._send_one_away)

    def _look(self) -> None:
        if not self._goes_on:
            return
        for client in self.clients:
            if not client.is_connected and client not in self._away:
                self.counts["cut off by the server"] += 1
                self._back_later(client)
        self._swarm.after(LOOK_S, self._look)

    def _back_later(self, client: Subscriber) -> None:
        self._away.add(client)

        def come_back() -> None:
            self._away.discard(client)
            client.connect()

        self._swarm.after(self._dice.uniform(0, AWAY_S_MAX), come_back)

    def _pause_s(self) -> float:
        """Departures that know nothing of each other."""
        return self._dice.expovariate(self._rate_hz)


def drafts_until(end_s: float) -> Iterator[dict[str, str]]:
    """What a publisher has to say until that moment of the monotonic clock."""
    number = 0
    while time.monotonic() < end_s:
        number += 1
        yield {"title": f"{number}", "body": "x" * 100}
