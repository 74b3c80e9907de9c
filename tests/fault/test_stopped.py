"""A server that gets no processor for ten seconds: a suspended laptop, a swapping machine, a debugger."""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.fanouts import FANOUTS
from tests.support.patience import PATIENCE_S
from tests.support.server import running_server
from tests.support.swarm import Publisher, Subscriber, Swarm

pytestmark = [pytest.mark.alone, pytest.mark.nightly]

STOPPED_S = 10.0
COUNT = 300


@pytest.mark.parametrize("fanout", FANOUTS)
def test_ten_seconds_without_the_processor_end_no_connection_and_lose_nothing(
    tmp_path: Path, fanout: str
) -> None:
    numbers = iter(range(COUNT))

    def drafts() -> Iterator[dict[str, Any]]:
        for number in numbers:
            yield {"title": str(number), "body": ""}

    with running_server(tmp_path, recorder=0, fanout=fanout) as server, Swarm() as swarm:
        transports = itertools.islice(itertools.cycle(("sse", "socketio")), 20)
        crowd = [Subscriber(swarm, server, transport) for transport in transports]
        for each in crowd:
            each.connect()
        assert swarm.run(lambda: all(each.ledger.first is not None for each in crowd), PATIENCE_S)
        publisher = Publisher(swarm, server, drafts(), pause_s=0.01)
        assert swarm.run(lambda: crowd[0].ledger.through > COUNT // 3, PATIENCE_S)

        os.killpg(server.process.pid, signal.SIGSTOP)
        try:
            swarm.run(lambda: False, STOPPED_S)
            assert not publisher.finished
        finally:
            os.killpg(server.process.pid, signal.SIGCONT)
        assert swarm.run(lambda: publisher.finished, 30)
        assert swarm.run(lambda: all(each.ledger.through == COUNT for each in crowd), 30)

        for each in crowd:
            assert (each.counts, each.ledger.faults(), each.ledger.gap_count) == ({"connect": 1}, [], 0)
        assert server.request("GET", "/readyz")[0] == 200
        assert "Traceback" not in server.log(), server.log()
