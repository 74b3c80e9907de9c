"""The clients of a load run: built-in ones or Locust's users, whichever the arm asks for, behind one link.

The clock is always probed by the built-in clients' process, which then does nothing else; on one machine CLOCK_MONOTONIC
is the same for it and for Locust's processes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.core.client import POLLING
from app.core.plan.scenario import Arm
from app.lab.run.client_link import ClientLink, Collected
from app.store.store import StampedProbe
from app.tools.load.arrivals import SelfUs, Stamps, arrived
from app.tools.load.generators import Gathered, Generators

LOCUST = "locust"
BUILT_IN = "built-in"
GENERATORS = (LOCUST, BUILT_IN)
"""Values of an arm's factor `generator`."""

CONNECT_EXTRA_S = 15.0
"""Beyond what the spawn rate needs, before the missing count as not connected."""


@dataclass(slots=True)
class Switch:
    """What `BuiltInClients` takes for its link. Promises the same, except that users who cannot connect are data."""

    clock: ClientLink
    generators: Generators
    spawn_rate: float
    on_window: Callable[[], None] = lambda: None
    """The window of a trial begins: everybody is told what comes."""
    on_window_end: Callable[[], None] = lambda: None
    """It is over: what is done now costs CPU, and none of it is the load's."""
    is_locust: bool = True
    polls: bool = False
    """Whether Socket.IO is spoken by long-polling."""
    gathered: Gathered | None = None
    """What Locust's users kept of the last trial; `None` for built-in clients."""
    self_us: SelfUs = field(default_factory=dict)
    stamps: Stamps = field(default_factory=Stamps)
    """Of the last trial of Locust's users."""

    def choose(self, arm: Arm) -> None:
        """Who connects from now on."""
        self.is_locust = arm.factors.get("generator", LOCUST) == LOCUST
        self.polls = bool(arm.factors.get("polling"))

    def burst(self, count: int) -> list[StampedProbe]:
        """Probe the clock."""
        return self.clock.burst(count)

    def pause(self, seconds: float) -> None:
        """Let time pass; raises `Stopped` when the run should end meanwhile."""
        self.clock.pause(seconds)

    def connect(self, clients: Sequence[dict[str, Any]]) -> None:
        """Connect clients in this order."""
        if not self.is_locust:
            self.clock.connect(clients)
            return
        first = clients[0]
        self.generators.connect(
            [int(each["client"]) for each in clients],
            transport=POLLING if self.polls else str(first["transport"]),
            url=str(first["url"]),
            topics=first["topics"],
            fanout=first["fanout"],
            spawn_rate=self.spawn_rate,
            timeout_s=len(clients) / self.spawn_rate + CONNECT_EXTRA_S,
        )

    def expect(self, run: str, trial: int, count: int) -> None:
        """Tell the clients what is about to come."""
        self.gathered, self.self_us, self.stamps = None, {}, Stamps()
        # The clock's process too, which then probes as long as the trial lasts.
        self.clock.expect(run, trial, count)
        if self.is_locust:
            self.generators.expect(run, trial, count)
        self.on_window()

    def wait_until_complete(self, timeout_s: float) -> bool:
        """Whether every client received everything within the time."""
        if not self.is_locust:
            return self.clock.wait_until_complete(timeout_s)
        return self.generators.wait_until_complete(timeout_s)

    def collect(self) -> Collected:
        """What arrived since `expect`. A user of Locust's received when its kernel did (`arrivals.py`)."""
        self.on_window_end()
        collected = self.clock.collect()
        if not self.is_locust:
            self.self_us = {
                (client, each.seq): each.received_us - each.kernel_us
                for client, arrivals in collected.arrivals.items()
                for each in reversed(arrivals)  # Of one that came twice the first stays.
                if each.kernel_us is not None
            }
            return collected
        gathered = self.gathered = self.generators.collect()
        found = arrived(gathered.rows)
        self.self_us, self.stamps = found.self_us, found.stamps
        return Collected(
            arrivals=found.by_client,
            loop_lag_ms_p99=gathered.lag_ms_p99,
            cpu_s=gathered.cpu_s,
            disconnects=gathered.disconnects,
            addresses={},
        )

    def disconnect(self) -> None:
        """Let the clients go."""
        if self.is_locust:
            self.generators.disconnect()
        else:
            self.clock.disconnect()
