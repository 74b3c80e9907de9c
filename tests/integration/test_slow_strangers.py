"""Slowness as a weapon, in every phase of a request, and many connections of one address (server/wsgi/connection_limiter.py)."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import time
from collections.abc import Iterator

import psutil
import pytest

from app.server.wsgi.connection_limiter import BURST_S, REQUESTS_PER_S_PER_PLACE
from app.server.wsgi.timed_body import BODY_S
from app.server.wsgi.worker import FIRST_REQUEST_S, SEND_IDLE_S
from tests.support.patience import PATIENCE_S
from tests.support.server import RunningServer, ServerSettings, running_server
from tests.support.streams import sse

CONNECTIONS = 4
"""Of one address, so few that a test fills them."""

PLACES = 2 * CONNECTIONS
"""In the request loop."""

STRANGER, OTHER = "127.0.9.1", "127.0.9.2"

OTHERS_REQUESTS = 10
"""Of somebody who asks now and then: half of what an address may ask at once."""

GRACE_S = 10.0
"""A busy machine's."""


@pytest.fixture(scope="module", params=["eventlet", pytest.param("gevent", marks=pytest.mark.nightly)])
def server(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[RunningServer]:
    # With proxies named, an address of loopback is one like any other.
    settings: ServerSettings = {"trusted_proxies": "192.0.2.1", "connections_per_address_max": CONNECTIONS}
    folder = tmp_path_factory.mktemp("slow")
    with running_server(folder, recorder=0, green_threads=request.param, **settings) as running:
        yield running
        assert "Traceback" not in running.log(), running.log()


@contextlib.contextmanager
def connection(server: RunningServer, source: str = STRANGER) -> Iterator[socket.socket]:
    address = ("127.0.0.1", server.port)
    with socket.create_connection(address, timeout=PATIENCE_S, source_address=(source, 0)) as sock:
        yield sock


def ask(sock: socket.socket) -> bytes:
    """The answer to a small request, on a connection that is kept."""
    sock.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    answer = b""
    while not answer.endswith(b"ok\n") and (piece := sock.recv(4096)):
        answer += piece
    return answer


def is_ended(sock: socket.socket, within_s: float) -> bool:
    sock.settimeout(within_s)
    try:
        return sock.recv(4096) == b""
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False


def test_one_more_connection_of_an_address_ends_its_longest_idle_one_and_nobody_elses(
    server: RunningServer,
) -> None:
    with contextlib.ExitStack() as stack:
        other = stack.enter_context(connection(server, OTHER))
        assert b"200 OK" in ask(other)
        held = [stack.enter_context(connection(server)) for _ in range(PLACES)]
        for sock in held:
            assert b"200 OK" in ask(sock)

        more = stack.enter_context(connection(server))
        assert b"200 OK" in ask(more)

        assert is_ended(held[0], GRACE_S)
        assert b"200 OK" in ask(held[2])
        assert b"200 OK" in ask(other)
        assert f"{STRANGER} has {PLACES} connections without a subscription" in server.log()


def test_a_subscription_takes_no_place_in_the_request_loop(server: RunningServer) -> None:
    with contextlib.ExitStack() as stack:
        for _ in range(CONNECTIONS):
            stream = stack.enter_context(connection(server, "127.0.9.3"))
            stream.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert b"200 OK" in stream.recv(4096)
        idle = [stack.enter_context(connection(server, "127.0.9.3")) for _ in range(PLACES)]

        assert [b"200 OK" in ask(sock) for sock in idle] == [True] * PLACES


@pytest.mark.nightly
def test_who_asks_without_end_waits_and_others_do_not(server: RunningServer) -> None:
    per_s = PLACES * REQUESTS_PER_S_PER_PLACE
    at_once = round(per_s * BURST_S)
    with connection(server, "127.0.9.4") as sock, connection(server, "127.0.9.5") as other:
        begun_s = time.monotonic()
        for _ in range(at_once + 4):
            assert b"200 OK" in ask(sock)
        took_s = time.monotonic() - begun_s
        asked_s = time.monotonic()
        for _ in range(OTHERS_REQUESTS):
            assert b"200 OK" in ask(other)
        other_s = time.monotonic() - asked_s

    assert took_s > 2 / per_s
    # In one queue with the other, each request would wait for a turn. So many, that a busy machine is not taken for it.
    assert other_s < 0.5 * OTHERS_REQUESTS / per_s


@pytest.mark.nightly
@pytest.mark.alone
@pytest.mark.parametrize(
    ("beginning", "limit_s"),
    [
        (b"", FIRST_REQUEST_S),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ", FIRST_REQUEST_S),
        (b"POST /api/deliveries HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999\r\n\r\n", BODY_S),
        (
            b"POST /api/deliveries HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n7f\r\n",
            BODY_S,
        ),
    ],
    ids=["nothing", "a head", "a body", "a body in chunks"],
)
def test_who_says_something_a_byte_at_a_time_is_ended_in_time(
    server: RunningServer, beginning: bytes, limit_s: float
) -> None:
    with connection(server, "127.0.9.6") as sock, sse(server.port) as stream:
        sock.sendall(beginning)
        begun_s = time.monotonic()
        ended = False
        while not ended and time.monotonic() - begun_s < limit_s + GRACE_S:
            if beginning:
                with contextlib.suppress(ConnectionError):
                    sock.sendall(b"a")
            ended = is_ended(sock, 0.5) or _was_refused(sock)
        took_s = time.monotonic() - begun_s

        assert ended
        assert took_s > limit_s / 2
        server.publish("still here", "")
        assert stream.next_notification()["title"] == "still here"


def _was_refused(sock: socket.socket) -> bool:
    """Whether an answer came before the end: a 400 for what broke off."""
    sock.setblocking(False)
    try:
        return b"HTTP/1.1 4" in sock.recv(4096)
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


def test_a_whole_history_is_answered_in_pieces_that_are_one_document(server: RunningServer) -> None:
    sent = [server.publish(str(number), "x" * 1000)["id"] for number in range(60)]
    link = http.client.HTTPConnection(
        "127.0.0.1", server.port, timeout=PATIENCE_S, source_address=("127.0.9.7", 0)
    )
    with contextlib.closing(link):
        link.request("GET", "/api/notifications?after=0&limit=1000")
        answer = link.getresponse()

        assert answer.headers["Content-Length"] is None
        assert [each["id"] for each in json.loads(answer.read())["notifications"]][-60:] == sent


LARGE = 300
"""Notifications of 20 KB: more than the kernel takes for somebody who does not read."""

ALL_OF_IT = b"GET /api/notifications?after=0&limit=1000 HTTP/1.1\r\nHost: localhost\r\n\r\n"

SMALL_BUFFER_BYTES = 4096
"""A reader's, so that what it has not read stays with the server."""


@pytest.mark.nightly
@pytest.mark.alone
def test_who_takes_an_answer_a_byte_at_a_time_or_not_at_all_is_ended_in_time(server: RunningServer) -> None:
    for number in range(LARGE):
        server.publish(str(number), "x" * 20_000)
    with sse(server.port) as stream, contextlib.ExitStack() as stack:
        deaf, slow = [stack.enter_context(slow_reader(server, f"127.0.9.{each}")) for each in (8, 9)]
        for sock in (deaf, slow):
            sock.sendall(ALL_OF_IT)
        assert slow.recv(1) == b"H"
        begun_s = time.monotonic()
        while is_held(server, deaf) or is_held(server, slow):
            assert time.monotonic() - begun_s < SEND_IDLE_S + GRACE_S
            with contextlib.suppress(ConnectionError, TimeoutError):
                slow.recv(1)
            time.sleep(0.5)
        took_s = time.monotonic() - begun_s

        assert took_s > SEND_IDLE_S / 2
        server.publish("still here", "")
        assert stream.next_notification()["title"] == "still here"


@contextlib.contextmanager
def slow_reader(server: RunningServer, source: str) -> Iterator[socket.socket]:
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL_BUFFER_BYTES)
        sock.settimeout(PATIENCE_S)
        sock.bind((source, 0))
        sock.connect(("127.0.0.1", server.port))
        yield sock


def is_held(server: RunningServer, sock: socket.socket) -> bool:
    """Whether a process of the server still has its end of `sock`: who does not read cannot see that end."""
    master = psutil.Process(server.process.pid)
    return any(
        tuple(each.raddr) == sock.getsockname()
        for process in (master, *master.children(recursive=True))
        for each in process.net_connections("tcp")
    )
