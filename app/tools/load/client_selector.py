"""The clients of a load run behind one interface: built-in ones or Locust's users, selected by the arm.

The clock is always probed by the built-in clients' process, even if Locust's users are measured. On one machine, both
share CLOCK_MONOTONIC.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.core.client import POLLING
from app.core.plan.scenario import Arm
from app.lab.run.client_link import ClientLink, Collected
from app.store.store import StampedProbe
from app.tools.load.arrivals import GeneratorDelaysUs, Stamps, arrived
from app.tools.load.generators import Gathered, Generators

LOCUST = "locust"
BUILT_IN = "built-in"
GENERATORS = (LOCUST, BUILT_IN)
"""Values of an arm's factor `generator`."""

CONNECT_EXTRA_S = 15.0
"""Timeout for connecting, in addition to the time that the spawn rate needs; then the missing users count as not
connected."""


@dataclass(slots=True)
class ClientSelector:
    """The client link that `BuiltInClients` uses.

    It has the interface of `ClientLink`, but failed connections are data, not errors.
    """

    clock: ClientLink
    generators: Generators
    spawn_rate: float
    on_window: Callable[[], None] = lambda: None
    """Called at the beginning of a trial's window, when all clients know what to expect."""
    on_window_end: Callable[[], None] = lambda: None
    """Called at the end of the window: CPU used afterwards is not part of the load."""
    is_locust: bool = True
    polls: bool = False
    """True if Socket.IO uses long polling."""
    gathered: Gathered | None = None
    """Records of Locust's users in the last trial; `None` for built-in clients."""
    generator_delays_us: GeneratorDelaysUs = field(default_factory=dict)
    stamps: Stamps = field(default_factory=Stamps)
    """Counts of stamps in the last trial of Locust's users."""

    def choose(self, arm: Arm) -> None:
        """Select the arm's generator for the following trials."""
        self.is_locust = arm.factors.get("generator", LOCUST) == LOCUST
        self.polls = bool(arm.factors.get("polling"))

    def burst(self, count: int) -> list[StampedProbe]:
        """Probe the clock `count` times."""
        return self.clock.burst(count)

    def pause(self, seconds: float) -> None:
        """Wait; raises `Stopped` when the run is stopped meanwhile."""
        self.clock.pause(seconds)

    def connect(self, clients: Sequence[dict[str, Any]]) -> None:
        """Connect the clients in this order."""
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
        """Announce the trial and the number of its notifications to the clients."""
        self.gathered, self.generator_delays_us, self.stamps = None, {}, Stamps()
        # The clock's process is included, because it probes for the duration of the trial.
        self.clock.expect(run, trial, count)
        if self.is_locust:
            self.generators.expect(run, trial, count)
        self.on_window()

    def wait_until_complete(self, timeout_s: float) -> bool:
        """Return whether every client received everything within the time."""
        if not self.is_locust:
            return self.clock.wait_until_complete(timeout_s)
        return self.generators.wait_until_complete(timeout_s)

    def collect(self) -> Collected:
        """Return the arrivals since `expect`; those of Locust's users are stamped by the kernel (`arrivals.py`)."""
        self.on_window_end()
        collected = self.clock.collect()
        if not self.is_locust:
            self.generator_delays_us = {
                (client, each.seq): each.received_us - each.kernel_us
                for client, arrivals in collected.arrivals.items()
                for each in reversed(arrivals)  # Of duplicates, the first arrival is kept.
                if each.kernel_us is not None
            }
            return collected
        gathered = self.gathered = self.generators.collect()
        found = arrived(gathered.rows)
        self.generator_delays_us, self.stamps = found.generator_delays_us, found.stamps
        return Collected(
            arrivals=found.by_client,
            loop_lag_ms_p99=gathered.lag_ms_p99,
            cpu_s=gathered.cpu_s,
            disconnects=gathered.disconnects,
            addresses={},
        )

    def disconnect(self) -> None:
        """Disconnect all clients."""
        if self.is_locust:
            self.generators.disconnect()
        else:
            self.clock.disconnect()
