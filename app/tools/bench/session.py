"""A session with one server, its subscribers and its publisher, and the cells measured in it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from app import clock
from app.core.errors import Unfit
from app.lab.measure.cpu import CpuSampler, difference
from app.tools.bench.publisher import Publication, Publisher
from app.tools.bench.server_under_test import ServerUnderTest
from app.tools.bench.subscriber_pool import SubscriberPool

CONNECT, PACED, BURST_HTTP, BURST_INSIDE = "connect", "paced", "burst_http", "burst_inside"
SWARM, MEMORY, HOLD = "swarm", "memory", "hold"

SETTLE_S = 15.0
"""Timeout for a server to notice new and closed connections."""

REST_S = 60.0
"""Timeout for its work on them afterwards: python-socketio takes about a millisecond per closed connection."""

REST_SAMPLE_S = 0.1
REST_SHARE_MAX = 0.1
"""Maximum CPU utilisation of a core between two samples for a server at rest. Pings of 10,000 clients take 0.02."""

WARM_UP_PAUSE_S = 0.05
WARM_UPS_MIN = 2


@dataclass(slots=True)
class BenchCell:
    """One raw measurement."""

    kind: str
    server: str
    transport: str
    subscribers: int
    repetition: int
    values: dict[str, float | None] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    """Reasons why it is invalid; empty if it is valid."""
    windows: list[dict[str, float | None]] = field(default_factory=list)
    """Figures of each window of a burst; `values` has their medians and sums."""

    @property
    def is_valid(self) -> bool:
        """True if its values may be used."""
        return not self.problems


@dataclass(frozen=True, slots=True)
class Session:
    """One server, its subscribers and its publisher."""

    server: ServerUnderTest
    transport: str
    repetition: int
    pool: SubscriberPool
    publisher: Publisher

    def cell(self, kind: str, subscribers: int) -> BenchCell:
        """Return an empty cell of this session."""
        return BenchCell(kind, self.server.name, self.transport, subscribers, self.repetition)

    def settle(self) -> int:
        """Publish until the server counts exactly the current subscribers and all have received it.

        Returns the last offset. Publishing lets a server notice closed connections that it only detects when writing.
        """
        deadline_us = clock.monotonic_us() + round(SETTLE_S * 1e6)
        settled = 0
        while clock.monotonic_us() < deadline_us:
            published = self.publisher.publish()
            is_complete = self.pool.wait_for(published.offset, timeout_s=SETTLE_S)
            settled = settled + 1 if is_complete and self._recipients(published) == self.pool.count else 0
            if settled == WARM_UPS_MIN:
                self._wait_until_at_rest()
                return published.offset
            time.sleep(WARM_UP_PAUSE_S)
        raise Unfit(f"After {SETTLE_S:g} s not exactly {self.pool.count} subscribers get a notification.")

    def _recipients(self, published: Publication) -> int:
        """Return the recipients over the whole server; one of several processes reports only its own."""
        return published.recipients if self.server.processes == 1 else self.publisher.state().recipients

    def _wait_until_at_rest(self) -> None:
        """Wait until the server has handled new and closed connections, which is no cost of deliveries."""
        sampler = CpuSampler(self.server.pid)
        before = sampler.snapshot()
        deadline_us = clock.monotonic_us() + round(REST_S * 1e6)
        while clock.monotonic_us() < deadline_us:
            time.sleep(REST_SAMPLE_S)
            after = sampler.snapshot()
            if difference(before, after).use.total_s <= REST_SHARE_MAX * REST_SAMPLE_S:
                return
            before = after
        raise Unfit(f"The server under test still works after {REST_S:g} s without a notification.")

    def check_path(self, cell: BenchCell) -> None:
        """Mark the cell invalid unless every connection uses the fan-out path that is to be measured."""
        paths = self.publisher.state().paths
        other_count = sum(count for path, count in paths.items() if path != self.server.path)
        if other_count:
            cell.problems.append(f"{other_count} connections are not on the {self.server.path} path: {paths}")


@contextlib.contextmanager
def publisher_of(server: ServerUnderTest) -> Iterator[Publisher]:
    """Connect a publisher for the block."""
    publisher = Publisher(server.host, server.port, server.token)
    try:
        yield publisher
    finally:
        publisher.close()
