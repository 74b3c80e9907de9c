"""What runs out: file descriptors and memory. Whoever is connected is not touched, and what ran out comes back."""

from __future__ import annotations

import contextlib
import itertools
import resource
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support.patience import PATIENCE_S
from tests.support.server import RunningServer, running_server, worker_of
from tests.support.swarm import Publisher, Subscriber, Swarm

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="prlimit is Linux's"),
]

TRANSPORTS = ("sse", "socketio")


def connected(swarm: Swarm, server: RunningServer, count: int) -> list[Subscriber]:
    """Subscribers that have been let in, of both transports in turns."""
    crowd = [
        Subscriber(swarm, server, transport)
        for transport in itertools.islice(itertools.cycle(TRANSPORTS), count)
    ]
    for each in crowd:
        each.connect()
    assert swarm.run(lambda: all(each.ledger.first is not None for each in crowd), PATIENCE_S)
    return crowd


class Endless:
    """Drafts until told to stop; how many there were."""

    def __init__(self, body: str = "") -> None:
        self.count = 0
        self.is_over = False
        self._body = body

    def __iter__(self) -> Iterator[dict[str, Any]]:
        while not self.is_over:
            self.count += 1
            yield {"title": str(self.count), "body": self._body}


@pytest.mark.parametrize("green_threads", ["eventlet", "gevent"])
def test_without_descriptors_accepting_pauses_and_existing_clients_are_unaffected(
    tmp_path: Path, green_threads: str
) -> None:
    with (
        running_server(tmp_path, recorder=0, green_threads=green_threads) as server,
        Swarm() as swarm,
        contextlib.ExitStack() as strangers,
    ):
        crowd = connected(swarm, server, 6)
        drafts = Endless()
        publisher = Publisher(swarm, server, iter(drafts), pause_s=0.01)
        worker = worker_of(server)
        _, hard = resource.prlimit(worker.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(worker.pid, resource.RLIMIT_NOFILE, (worker.num_fds() + 5, hard))
        connections = [  # The kernel takes them; the server cannot.
            strangers.enter_context(socket.create_connection(("127.0.0.1", server.port))) for _ in range(30)
        ]
        for stranger in connections:
            stranger.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        before = crowd[0].ledger.through
        cpu_s, asked_s = sum(worker.cpu_times()[:2]), time.monotonic()
        assert swarm.run(lambda: all(each.ledger.through > before + 100 for each in crowd), PATIENCE_S)
        busy = (sum(worker.cpu_times()[:2]) - cpu_s) / (time.monotonic() - asked_s)
        assert not _answers(connections[-1]), "whoever came last was let in: descriptors had not run out"
        resource.prlimit(worker.pid, resource.RLIMIT_NOFILE, (hard, hard))

        assert swarm.run(lambda: _answers(stranger), PATIENCE_S), "whoever waited was not let in afterwards"
        crowd += connected(swarm, server, 2)
        drafts.is_over = True
        assert swarm.run(lambda: publisher.finished, PATIENCE_S)
        assert swarm.run(lambda: all(each.ledger.through == drafts.count for each in crowd), PATIENCE_S)
        for each in crowd:
            assert (each.counts, each.ledger.faults(), each.ledger.gap_count) == ({"connect": 1}, [], 0)
        print(f"busy while descriptors were out: {busy:.0%}")
        assert "Cannot accept" in server.log() or green_threads == "gevent"


def _answers(stranger: socket.socket) -> bool:
    stranger.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        return b"200 OK" in stranger.recv(1000)
    return False


BODY_BYTES = 18_000
PUBLISHED = 6_000
STALLED = 20
ROOM_BYTES = 256 * 2**20
"""More than history and queues may hold by their settings, and less than what is published with a copy for anybody."""


def test_within_a_limit_of_memory_a_flood_to_clients_that_do_not_read_is_outlived(tmp_path: Path) -> None:
    """The kernel itself refuses what the bounds of history and queues should never ask for."""
    with running_server(tmp_path, recorder=0) as server, Swarm() as swarm:
        good, slow = connected(swarm, server, 2), connected(swarm, server, STALLED)
        worker = worker_of(server)
        before = worker.memory_info()
        resource.prlimit(worker.pid, resource.RLIMIT_AS, (before.vms + ROOM_BYTES, resource.RLIM_INFINITY))
        for each in slow:
            each.stall()
        drafts = ({"title": str(number), "body": "b" * BODY_BYTES} for number in range(PUBLISHED))
        publisher = Publisher(swarm, server, drafts)
        assert swarm.run(lambda: publisher.finished, 600)
        assert swarm.run(lambda: all(each.ledger.through == PUBLISHED for each in good), PATIENCE_S)
        grown_mib = (worker.memory_info().rss - before.rss) / 2**20
        print(f"published {PUBLISHED * BODY_BYTES / 2**20:.0f} MiB; the server grew by {grown_mib:.0f} MiB")

        assert [each.counts for each in good] == [{"connect": 1}] * 2
        assert not any(each.ledger.faults() for each in good)
        come_back(swarm, slow)
        for each in slow:
            assert (each.ledger.faults(), each.ledger.through) == ([], PUBLISHED)
        assert psutil.pid_exists(worker.pid), "the worker was replaced"
        assert "MemoryError" not in server.log(), server.log()


def come_back(swarm: Swarm, slow: list[Subscriber]) -> None:
    """Read what is left of the connection that was cut off, then resume: with a gap, as history is short."""
    for each in slow:
        each.read()
    assert swarm.run(lambda: not any(each.is_connected for each in slow), PATIENCE_S)
    for each in slow:
        each.connect()
    assert swarm.run(lambda: all(each.ledger.through == PUBLISHED for each in slow), 30)
