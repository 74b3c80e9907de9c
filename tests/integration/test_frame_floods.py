"""Frames without end on the stock WebSocket, whichever class reads them, and who may open one at all."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.test_direct_ends import open_websocket
from tests.support.floods import AT_ONCE, FLOODS, is_ended_by
from tests.support.patience import PATIENCE_S
from tests.support.protocol_server import Endpoint, WebSocket, protocol_server
from tests.support.server import ServerSettings, running_server
from tests.support.streams import read_until

pytestmark = [pytest.mark.nightly, pytest.mark.alone]  # They take all that they get.

WAYS = (("eventlet", "direct"), ("eventlet", "stock"), ("gevent", "stock"), ("threads", "stock"))
"""(kind of threads, fan-out)"""


@pytest.fixture(scope="module", params=WAYS, ids="-".join)
def endpoint(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    with protocol_server(tmp_path_factory.mktemp("floods"), request.param) as server:
        yield Endpoint(server.port)


def ask_for_a_websocket(endpoint: Endpoint, version: str) -> socket.socket:
    sock = socket.create_connection(("127.0.0.1", endpoint.port), timeout=PATIENCE_S)
    sock.sendall(
        f"GET {endpoint.path}?EIO=4&transport=websocket {version}\r\nHost: localhost\r\nUpgrade: websocket\r\n"
        "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
        "".encode()
    )
    return sock


@pytest.mark.parametrize("flood", FLOODS)
def test_a_flood_of_frames_that_give_no_message_ends_its_websocket_and_no_other(
    endpoint: Endpoint, flood: str
) -> None:
    other = WebSocket(endpoint)
    with ask_for_a_websocket(endpoint, "HTTP/1.1") as sock:
        read_until(sock, b'"sid"')

        assert is_ended_by(sock, flood)

    other.send("4still here")
    assert other.connection.recv(timeout=PATIENCE_S) == "4still here"
    other.close()


@pytest.mark.parametrize("version", ["HTTP/1.0", "HTTP/1.2"])
def test_a_websocket_over_http_1_0_is_refused(endpoint: Endpoint, version: str) -> None:
    """It is never taken over: any stranger could choose the stock path by it, which costs ten times the memory."""
    with ask_for_a_websocket(endpoint, version) as sock:
        answer = read_until(sock, b"\r\n\r\n")

    assert answer.split(b" ", 2)[1] == b"400"


@pytest.mark.parametrize("backend", ["eventlet", "gevent"])
def test_others_are_served_while_frames_come_without_a_pause(backend: str, tmp_path: Path) -> None:
    """So fast a client may be here; while there are bytes its reader never waits by itself."""
    settings: ServerSettings = {"fanout": "stock", "green_threads": backend, "packets_per_s_max": 1_000_000}
    enough = threading.Event()
    with running_server(tmp_path, recorder=0, **settings) as server, open_websocket(server) as sock:
        sock.settimeout(PATIENCE_S)
        first, again = FLOODS["fragments"]
        sock.sendall(first)

        def shout() -> None:
            while not enough.is_set():
                sock.sendall(again * AT_ONCE)

        shouting = threading.Thread(target=shout, daemon=True)
        shouting.start()
        try:
            answers = [server.request("GET", "/healthz")[0] for _ in range(5)]
            still_shouting = shouting.is_alive()
        finally:
            enough.set()
            shouting.join(PATIENCE_S)

    assert answers == [200] * 5
    assert still_shouting, "the server ended it, where others should have had their turns beside it"
