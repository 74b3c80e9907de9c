"""One server, its subscribers and its publisher, and the cells that are measured with them."""

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
"""How long a server may take to notice who came and who left."""

REST_S = 60.0
"""How long it may work on after that: python-socketio takes about a millisecond for each that left."""

REST_LOOK_S = 0.1
REST_SHARE_MAX = 0.1
"""At rest: less than this share of a core between two looks. Pings of 10,000 clients take a fiftieth."""

WARM_UP_PAUSE_S = 0.05
WARM_UPS_MIN = 2


@dataclass(slots=True)
class BenchCell:
    """One measurement, raw."""

    kind: str
    server: str
    transport: str
    subscribers: int
    repetition: int
    values: dict[str, float | None] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    """Why it does not count; empty: it does."""
    windows: list[dict[str, float | None]] = field(default_factory=list)
    """Of a burst: the figures of each, of which `values` has the medians and sums."""

    @property
    def is_valid(self) -> bool:
        """Whether its values may be used."""
        return not self.problems


@dataclass(frozen=True, slots=True)
class Session:
    """One server, its subscribers and its publisher."""

    subject: ServerUnderTest
    transport: str
    repetition: int
    crowd: SubscriberPool
    publisher: Publisher

    def cell(self, kind: str, subscribers: int) -> BenchCell:
        """An empty cell of this visit."""
        return BenchCell(kind, self.subject.name, self.transport, subscribers, self.repetition)

    def settle(self) -> int:
        """Publish until the server knows of exactly those who are there, and all have got it.

        A server that only notices by writing that somebody left is told this way. Answers the last offset.
        """
        deadline_us = clock.monotonic_us() + round(SETTLE_S * 1e6)
        settled = 0
        while clock.monotonic_us() < deadline_us:
            published = self.publisher.publish()
            everyone = self.crowd.wait_for(published.offset, timeout_s=SETTLE_S)
            settled = settled + 1 if everyone and self._recipients(published) == self.crowd.count else 0
            if settled == WARM_UPS_MIN:
                self._rest()
                return published.offset
            time.sleep(WARM_UP_PAUSE_S)
        raise Unfit(f"After {SETTLE_S:g} s not exactly {self.crowd.count} subscribers get a notification.")

    def _recipients(self, published: Publication) -> int:
        """Of the whole server: one of several processes answers a publish with its own."""
        return published.recipients if self.subject.processes == 1 else self.publisher.state().recipients

    def _rest(self) -> None:
        """Wait until the server has done with who came and who left, or that would count as a delivery's cost."""
        sampler = CpuSampler(self.subject.pid)
        before = sampler.snapshot()
        deadline_us = clock.monotonic_us() + round(REST_S * 1e6)
        while clock.monotonic_us() < deadline_us:
            time.sleep(REST_LOOK_S)
            after = sampler.snapshot()
            if difference(before, after).use.total_s <= REST_SHARE_MAX * REST_LOOK_S:
                return
            before = after
        raise Unfit(f"The server under test still works after {REST_S:g} s without a notification.")

    def check_path(self, cell: BenchCell) -> None:
        """A figure must be of what its name says: every connection on the path that is measured."""
        paths = self.publisher.state().paths
        strays = sum(count for path, count in paths.items() if path != self.subject.path)
        if strays:
            cell.problems.append(f"{strays} connections are not on the {self.subject.path} path: {paths}")


@contextlib.contextmanager
def publisher_of(subject: ServerUnderTest) -> Iterator[Publisher]:
    """A publisher, hung up with the block."""
    publisher = Publisher(subject.host, subject.port, subject.token)
    try:
        yield publisher
    finally:
        publisher.close()
