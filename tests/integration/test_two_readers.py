"""Two readers that share no code tell the same of a burst: everybody got each notification once, and in order.

Half of the subscribers are the bench's, read by io_uring in batches and accounted for as one thing where all are alike; half are
plain sockets on an epoll, each with its own decoder. The server is stopped for some milliseconds again and again, as a busy
host does it, and pings go to everyone amid the rounds.
"""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from pathlib import Path

import pytest

from app.tools.bench.publisher import Publisher
from app.tools.bench.subscriber_pool import Member, subscriber_pool
from tests.support.patience import PATIENCE_S
from tests.support.server import RunningServer, ServerSettings, running_server
from tests.support.swarm import Subscriber, Swarm

HALF = 250
NOTIFICATIONS = 400
PING_S = 0.5
STOPS_PER_S, STOPPED_S = 200.0, 0.004
"""On average."""


class Burst(threading.Thread):
    """Publishes back to back by HTTP."""

    def __init__(self, publisher: Publisher) -> None:
        super().__init__()
        self.last = 0
        self.is_over = False
        self._publisher = publisher

    def run(self) -> None:
        for _ in range(NOTIFICATIONS):
            self.last = self._publisher.publish().offset
        self.is_over = True


class Stops(threading.Thread):
    """Takes the processor from a server and gives it back, until told to stop."""

    def __init__(self, server: RunningServer, seed: int) -> None:
        super().__init__()
        self.over = threading.Event()
        self.count = 0
        self._group, self._choice = server.process.pid, random.Random(seed)

    def run(self) -> None:
        while not self.over.wait(self._choice.expovariate(STOPS_PER_S)):
            os.killpg(self._group, signal.SIGSTOP)
            time.sleep(self._choice.expovariate(1 / STOPPED_S))
            os.killpg(self._group, signal.SIGCONT)
            self.count += 1


@pytest.mark.slow
@pytest.mark.parametrize("io_uring", ["true", "false"])
@pytest.mark.parametrize("transport", ["sse", "socketio"])
def test_a_burst_comes_once_and_in_order_to_both(transport: str, io_uring: str, tmp_path: Path) -> None:
    settings: ServerSettings = {"io_uring": io_uring, "ping_interval_s": PING_S, "recorder": 0}
    with (
        running_server(tmp_path, **settings) as server,
        Swarm() as swarm,
        subscriber_pool([Member(transport)], "127.0.0.1", server.port) as batched,
    ):
        publisher = Publisher("127.0.0.1", server.port, server.admin_token)
        plain = [Subscriber(swarm, server, transport) for _ in range(HALF)]
        for each in plain:
            each.connect()
        assert swarm.run(lambda: all(each.ledger.first is not None for each in plain), PATIENCE_S)
        batched.grow(HALF)
        first = publisher.publish().offset
        assert batched.wait_for(first, timeout_s=PATIENCE_S)
        assert batched.begin(first) == 0
        burst, stops = Burst(publisher), Stops(server, seed=len(transport + io_uring))

        stops.start()
        burst.start()
        try:
            assert swarm.run(lambda: burst.is_over, PATIENCE_S)
        finally:
            stops.over.set()
            stops.join()
        burst.join()
        publisher.close()

        last = first + NOTIFICATIONS
        assert burst.last == last
        assert swarm.run(lambda: all(each.ledger.through >= last for each in plain), PATIENCE_S)
        assert batched.wait_for(last, timeout_s=PATIENCE_S)
        told = batched.end(offset=last, starts_us=[0] * NOTIFICATIONS, merges=True)
        assert stops.count > 10
        assert [fault for each in plain for fault in each.ledger.faults()] == []
        assert (told.lost, told.duplicates, told.out_of_order, told.disconnects) == (0, 0, 0, 0)
        assert told.delivered == HALF * NOTIFICATIONS
        assert "Traceback" not in server.log()
