"""A request's body that comes as fast as it can and never ends (app/server/wsgi/timed_body.py)."""

from __future__ import annotations

import contextlib
import http.client
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from tests.support.patience import PATIENCE_S
from tests.support.server import RunningServer, running_server

pytestmark = [pytest.mark.nightly, pytest.mark.alone]  # They take all that they get.

CONNECTIONS = 4

ZEROS = bytes(65_536)

BODIES = {
    "a told length": (
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000000\r\n\r\n",
        ZEROS,
    ),
    "one chunk": (
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nE8D4A51000\r\n",
        ZEROS,
    ),
    "lines that are longer than their chunks, to a view that reads": (
        b"POST /api/devices HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n",
        (b"1;x=" + b"y" * 4000 + b"\r\n0\r\n") * 16,
    ),
}
"""A head, and what then comes again and again."""


@pytest.fixture(scope="module", params=["eventlet", "gevent"])
def server(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[RunningServer]:
    folder = tmp_path_factory.mktemp("endless")
    with running_server(folder, recorder=0, green_threads=request.param) as running:
        yield running
        assert "Traceback" not in running.log(), running.log()


@contextlib.contextmanager
def pouring(port: int, body: str) -> Iterator[list[str]]:
    """Connections with such bodies for the length of the block, and anew when they are ended; each end is noted."""
    head, again = BODIES[body]
    ends: list[str] = []
    enough = threading.Event()

    def pour() -> None:
        while not enough.is_set():
            with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as sock:
                try:
                    sock.sendall(head)
                    while not enough.is_set():
                        sock.sendall(again)
                except OSError as error:
                    ends.append(type(error).__name__)

    threads = [threading.Thread(target=pour, daemon=True) for _ in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    try:
        yield ends
    finally:
        enough.set()
        for thread in threads:
            thread.join(PATIENCE_S)


@pytest.mark.parametrize("body", BODIES)
def test_a_body_without_end_ends_its_connection_and_others_are_served_meanwhile(
    server: RunningServer, body: str
) -> None:
    with pouring(server.port, body) as ends:
        answers = [server.request("GET", "/healthz")[0] for _ in range(5)]
        deadline_s = time.monotonic() + PATIENCE_S
        while len(ends) < 2 * CONNECTIONS and time.monotonic() < deadline_s:
            time.sleep(0.05)

    assert answers == [200] * 5
    assert len(ends) >= 2 * CONNECTIONS
    assert set(ends) <= {"ConnectionResetError", "BrokenPipeError"}


def test_a_body_that_nobody_reads_and_that_ends_leaves_its_connection_in_use(server: RunningServer) -> None:
    link = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S)
    with contextlib.closing(link):
        link.connect()
        sock = link.sock
        for _ in range(3):
            link.request("GET", "/healthz", body=b"x" * 100_000)
            answer = link.getresponse()

            assert (answer.status, answer.read()) == (200, b"ok\n")
            assert link.sock is sock
