"""What one address may make the server do, whatever it sends: it pays for each as for requests, and waits for its turn."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator

import pytest

from app.server.wsgi.connection_limiter import PEAK_BURST, PEAK_FACTOR, REQUESTS_PER_S_PER_PLACE
from app.server.wsgi.worker import PLACES_OF_A_CONNECTION
from tests.support.abuse_scripts import OPEN_WEBSOCKET, frame
from tests.support.patience import PATIENCE_S
from tests.support.server import RunningServer, ServerSettings, running_server

CONNECTIONS = 8
PEAK_PER_S = PEAK_FACTOR * REQUESTS_PER_S_PER_PLACE * PLACES_OF_A_CONNECTION * CONNECTIONS
"""Requests a second in a burst: eight."""

COST = 26
"""What each client below does, in requests at least: less than a burst has, so that the peak alone makes it wait."""

WAIT_S = (COST - PEAK_BURST) / PEAK_PER_S

MISSED = 3000
"""Notifications that a client resumes; looking at them costs fifteen requests."""

OTHER = "127.0.9.99"

POLLING = "/socket.io/?EIO=4&transport=polling"


@pytest.fixture(scope="module", params=["eventlet", pytest.param("gevent", marks=pytest.mark.nightly)])
def server(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[RunningServer]:
    # With proxies named, an address of loopback is one like any other.
    settings: ServerSettings = {
        "trusted_proxies": "192.0.2.1",
        "connections_per_address_max": CONNECTIONS,
        "publish_per_s_max": 20_000,
    }
    folder = tmp_path_factory.mktemp("share")
    with running_server(folder, recorder=0, green_threads=request.param, **settings) as running:
        for _ in range(MISSED // 100):
            drafts = [{"title": "missed", "body": ""}] * 100
            assert running.request("POST", "/api/notifications", drafts)[0] in (200, 201)
        yield running
        assert "Traceback" not in running.log(), running.log()


def connect(server: RunningServer, source: str) -> socket.socket:
    return socket.create_connection(
        ("127.0.0.1", server.port), timeout=PATIENCE_S, source_address=(source, 0)
    )


def until(sock: socket.socket, ending: bytes, *, times: int = 1) -> bytes:
    """Read until `ending` has come so often."""
    received = b""
    while received.count(ending) < times:
        piece = sock.recv(65_536)
        assert piece, received[-500:]
        received += piece
    return received


def asked(sock: socket.socket, head: str, body: bytes = b"") -> bytes:
    length = f"Content-Length: {len(body)}\r\n" if body else ""
    sock.sendall(f"{head} HTTP/1.1\r\nHost: localhost\r\n{length}\r\n".encode() + body)
    return until(sock, b"\r\n\r\n")


def new_session(sock: socket.socket) -> str:
    """Open an Engine.IO session by polling; return its `sid`."""
    sock.sendall(f"GET {POLLING} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    # The body can come in a segment of its own.
    return until(sock, b"}").partition(b'"sid":"')[2].partition(b'"')[0].decode()


def post_of_packets(server: RunningServer, source: str) -> None:
    with connect(server, source) as sock:
        posted = asked(sock, f"POST {POLLING}&sid={new_session(sock)}", b"\x1e".join([b"6"] * 8 * COST))
        assert b" 200 OK" in posted


def joins_by_polling(server: RunningServer, source: str) -> None:
    with connect(server, source) as sock:
        join = b'40{"topics":["none"],"last_event_id":"other.1"}'
        posted = asked(sock, f"POST {POLLING}&sid={new_session(sock)}", b"\x1e".join([join, b"41"] * 3))
        assert b" 200 OK" in posted


def joins_by_websocket(server: RunningServer, source: str) -> None:
    with connect(server, source) as sock:
        sock.sendall(OPEN_WEBSOCKET)
        until(sock, b'"sid"')
        for _ in range(3):
            sock.sendall(frame(b'40{"topics":["none"],"last_event_id":"other.1"}') + frame(b"41"))
        until(sock, b'40{"sid"', times=3)


def messages(server: RunningServer, source: str) -> None:
    with connect(server, source) as sock:
        sock.sendall(OPEN_WEBSOCKET)
        until(sock, b'"sid"')
        sock.sendall(frame(b"6") * 8 * COST + frame(b"1"))
        while sock.recv(65_536):
            pass


def long_messages(server: RunningServer, source: str) -> None:
    with connect(server, source) as sock:
        sock.sendall(OPEN_WEBSOCKET)
        until(sock, b'"sid"')
        sock.sendall(frame(b"6" + bytes(60_000)) * (COST // 6) + frame(b"1"))
        while sock.recv(65_536):
            pass


def pings(server: RunningServer, source: str) -> None:
    with connect(server, source) as sock:
        sock.sendall(OPEN_WEBSOCKET)
        until(sock, b'"sid"')
        sock.sendall(b"\x89\x80\0\0\0\0" * 1900)
        until(sock, b"\x8a\0", times=1900)


def streams(server: RunningServer, source: str) -> None:
    for _ in range(3):
        with connect(server, source) as sock:
            asked(sock, "GET /events?topic=none&last_event_id=other.1")


def bodies(server: RunningServer, source: str) -> None:
    with connect(server, source) as sock:
        for _ in range(2):
            assert b" 401 " in asked(sock, "POST /api/notifications", bytes(1_000_000))
        asked(sock, "GET /healthz")


KINDS: list[Callable[[RunningServer, str], None]] = [
    *(post_of_packets, joins_by_polling, joins_by_websocket, messages, long_messages, pings, streams, bodies)
]


@pytest.mark.parametrize("do", KINDS)
def test_an_address_waits_until_it_has_paid_for_what_it_asks(
    server: RunningServer, do: Callable[[RunningServer, str], None]
) -> None:
    begun_s = time.monotonic()

    do(server, f"127.0.9.{KINDS.index(do) + 1}")

    assert time.monotonic() - begun_s >= WAIT_S
    with connect(server, OTHER) as sock:
        assert b"200 OK" in asked(sock, "GET /healthz")
