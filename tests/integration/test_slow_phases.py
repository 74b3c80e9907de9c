"""Slowness behind a request or before it: half a frame, an upgrade that stops, half a TLS hello. Others are served meanwhile."""

from __future__ import annotations

import contextlib
import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.core.protocol.websocket import Opcode, encode_frame, handshake_key, handshake_request
from tests.support.encrypted import serving
from tests.support.fanouts import FANOUTS, fanout_settings
from tests.support.metrics import subscribed
from tests.support.server import RunningServer, ServerSettings, running_server
from tests.support.streams import sse, websocket_by_hand

pytestmark = pytest.mark.nightly

PATIENCE_S = 60.0
"""The bounds are seconds; only a machine that stands still takes so long."""

PAUSE_S = 0.2
"""Between two words of somebody slow."""

NO_MASK = bytes(4)

JOIN = encode_frame(Opcode.TEXT, b"40", mask=NO_MASK)
PROBE = encode_frame(Opcode.TEXT, b"2probe", mask=NO_MASK)

HALF_A_FRAME = b"\x81\xfe\xea\x60" + NO_MASK + b"42"
"""The beginning of a text message of 60,000 bytes (RFC 6455, section 5.2)."""

A_FRAGMENT = b"\x01\x82" + NO_MASK + b"42"
ANOTHER = b"\x00\x81" + NO_MASK + b"a"
"""Of a message whose last frame never comes."""

HALF_A_HELLO = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"
"""Of a ClientHello of 512 bytes (RFC 8446, section 4.1.2)."""


@pytest.fixture(scope="module", params=FANOUTS)
def server(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[RunningServer]:
    bounds: ServerSettings = {"ping_interval_s": 0.5, "ping_timeout_s": 1}
    folder = tmp_path_factory.mktemp("phases")
    with running_server(folder, recorder=0, **bounds, **fanout_settings(request.param)) as running:
        yield running
        assert "Traceback" not in running.log(), running.log()


def is_ended(sock: socket.socket, more: bytes = b"") -> bool:
    """Whether the server ends the connection of somebody who says `more` now and then."""
    deadline_s = time.monotonic() + PATIENCE_S
    sock.settimeout(PAUSE_S)
    while time.monotonic() < deadline_s:
        try:
            if not sock.recv(4096):
                return True
        except TimeoutError:
            with contextlib.suppress(ConnectionError):  # What was said too late; the end is read next.
                sock.sendall(more)
        except ConnectionError:
            return True
    return False


@pytest.mark.parametrize(
    ("beginning", "more"),
    [(HALF_A_FRAME, b"a"), (HALF_A_FRAME[:1], b""), (A_FRAGMENT, ANOTHER)],
    ids=["half a frame", "its first byte", "fragments without an end"],
)
def test_who_begins_a_message_and_does_not_end_it_is_ended_as_one_who_answers_no_ping(
    server: RunningServer, beginning: bytes, more: bytes
) -> None:
    """A pong is a message of Engine.IO's: none can be sent in the middle of another one."""
    with sse(server.port) as stream, socket.create_connection(("127.0.0.1", server.port), PATIENCE_S) as sock:
        websocket_by_hand(sock)
        sock.sendall(JOIN + beginning)

        assert is_ended(sock, more)

        server.publish("still here", "")
        assert stream.next_notification()["title"] == "still here"
    deadline_s = time.monotonic() + PATIENCE_S
    while subscribed(server, "socketio"):
        assert time.monotonic() < deadline_s, "its place was not given back"


def poll(server: RunningServer, sid: str) -> str:
    status, answer = server.request("GET", f"/socket.io/?EIO=4&transport=polling&sid={sid}")
    assert status == 200, answer
    return str(answer)


def joined_by_polling(server: RunningServer) -> str:
    """A new session that has joined; its id."""
    _status, opened = server.request("GET", "/socket.io/?EIO=4&transport=polling")
    sid = str(json.loads(opened[1:])["sid"])
    server.request("POST", f"/socket.io/?EIO=4&transport=polling&sid={sid}", raw=b"40")
    assert poll(server, sid).startswith("40")
    return sid


@pytest.mark.parametrize("fanout", FANOUTS)
def test_an_upgrade_that_stops_is_ended_and_its_session_polls_on(tmp_path: Path, fanout: str) -> None:
    """At any of its steps, all of them at once here: each has ten seconds."""
    with running_server(tmp_path, recorder=0, fanout=fanout) as server, contextlib.ExitStack() as stack:
        sids = [joined_by_polling(server) for _ in range(4)]
        socks = [
            stack.enter_context(socket.create_connection(("127.0.0.1", server.port), PATIENCE_S))
            for _ in sids
        ]
        for sid, sock, words in zip(
            sids, socks, (b"", HALF_A_FRAME, PROBE, PROBE + HALF_A_FRAME), strict=True
        ):
            target = f"/socket.io/?EIO=4&transport=websocket&sid={sid}"
            sock.sendall(
                handshake_request(host="localhost", target=target, key=handshake_key(bytes(16)), headers={})
            )
            assert sock.recv(4096).startswith(b"HTTP/1.1 101 ")
            sock.sendall(words)

        assert [is_ended(sock) for sock in socks] == [True] * 4

        server.publish("still here", "")
        for sid in sids:
            while "still here" not in poll(server, sid):
                pass
        assert "Traceback" not in server.log(), server.log()


def test_half_a_tls_hello_is_ended_at_the_door_and_at_the_clock(tmp_path: Path) -> None:
    with (
        serving(tmp_path, "--https", "ca", trust="runs/.tls/ca.pem") as server,
        contextlib.ExitStack() as stack,
    ):
        clock_port = json.loads(server.ask("/version")[1])["clock_port"]
        halves = [
            stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            for port in (server.port, clock_port)
        ]
        for sock in halves:
            sock.sendall(HALF_A_HELLO)

        assert server.ask("/healthz")[0].status == 200
        assert [is_ended(sock, b"\0") for sock in halves] == [True, True]
        assert server.ask("/healthz")[0].status == 200
        assert "Traceback" not in server.log.read_text()
