"""Every byte from the LAN is untrusted: what breaks a protocol harms nobody else, and leaves no traceback in the log."""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from websockets.sync.client import connect

from tests.support.patience import PATIENCE_S
from tests.support.server import RunningServer, running_server
from tests.support.streams import say_no_more, socketio, sse, websocket_by_hand


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running_server(tmp_path_factory.mktemp("bad"), recorder=0, log_level="info") as running:
        yield running
        assert "Traceback" not in running.log(), running.log()


def test_what_is_left_of_a_refused_body_is_not_taken_for_the_next_request(server: RunningServer) -> None:
    smuggled = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    body = b"x" * 70_000 + smuggled
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as sock:
        sock.sendall(
            b"POST /api/notifications HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "
            + server.admin_token.encode()
            + b"\r\nContent-Length: "
            + str(len(body)).encode()
            + b"\r\n\r\n"
            + body
        )
        say_no_more(sock)
        answers = read_to_the_end(sock)

    assert answers.count(b"HTTP/1.1") == 1
    assert b"ok\n" not in answers


@pytest.mark.parametrize(
    ("auth", "word"),
    [
        ("x", "auth"),
        (True, "auth"),
        ({"topics": "a b"}, "topic"),
        ({"topics": ["a b"]}, "topic"),
        ({"topics": [1]}, "topic"),
        ({"topics": ["t"] * 33}, "topics"),
        ({"last_event_id": 7}, "last_event_id"),
    ],
)
def test_bad_auth_of_a_channel_is_refused_with_a_sentence(
    server: RunningServer, auth: Any, word: str
) -> None:
    with connect(f"ws://127.0.0.1:{server.port}/socket.io/?EIO=4&transport=websocket") as websocket:
        websocket.recv(timeout=PATIENCE_S)
        websocket.send("40" + json.dumps(auth))
        answer = str(websocket.recv(timeout=PATIENCE_S))

    assert answer.startswith("44")
    assert word in json.loads(answer[2:])["message"]


@pytest.mark.parametrize(
    "frame",
    [
        "",
        "9",
        "42",
        "42{",
        '42["x"',
        "40{",
        "40[1",
        "45",
        "451-",
        '451-["x",{"_placeholder":true,"num":9}]',
        "49",
        "43",
        "2probe",
        "\x00",
        "é" * 1000,
        b"\x00\xff",
        "4" * 60_000,
    ],
)
def test_no_frame_of_a_stranger_harms_the_others(server: RunningServer, frame: str | bytes) -> None:
    with socketio(server.port) as good:
        with connect(f"ws://127.0.0.1:{server.port}/socket.io/?EIO=4&transport=websocket") as websocket:
            websocket.recv(timeout=PATIENCE_S)
            websocket.send(frame)

        server.publish("still here", "")
        assert good.next_notification()["title"] == "still here"


@pytest.mark.parametrize(
    "raw",
    [
        b"\x81\xff" + b"\xff" * 8 + b"mask",  # a frame of 2^64 - 1 bytes
        b"\x81\x05hello",  # not masked
        b"\xf1\x80mask",  # reserved bits
        b"\x83\x80mask",  # an opcode that does not exist
        b"\x89\xfe\x01\x00mask" + b"x" * 256,  # a control frame that is too long
        b"\x81\x82mask" + bytes(a ^ b for a, b in zip(b"\xff\xfe", b"ma", strict=True)),  # not UTF-8
        b"GET / HTTP/1.1\r\n\r\n",
    ],
)
def test_no_bytes_of_a_stranger_on_an_open_websocket_harm_the_others(
    server: RunningServer, raw: bytes
) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as sock, sse(server.port) as good:
        websocket_by_hand(sock)
        sock.sendall(raw)
        say_no_more(sock)
        rest = read_to_the_end(sock)

        assert b"HTTP/1.1" not in rest, "an HTTP answer was written into an open WebSocket"
        server.publish("still here", "")
        assert good.next_notification()["title"] == "still here"


@pytest.mark.parametrize(
    "body", [b"", b"garbage", b"4", b"2", b"40\x1e40", b"\xff\xfe", b"b!!!", b"40{" * 100]
)
def test_no_polling_payload_of_a_stranger_makes_a_traceback(server: RunningServer, body: bytes) -> None:
    status, opened = server.request("GET", "/socket.io/?EIO=4&transport=polling")
    assert status == 200
    sid = json.loads(opened[1:])["sid"]

    status, _answer = server.request("POST", f"/socket.io/?EIO=4&transport=polling&sid={sid}", raw=body)

    assert status in (200, 400)
    assert server.request("GET", "/healthz")[0] == 200


@pytest.mark.parametrize(
    "query",
    [
        "",
        "EIO=3",
        "EIO=4&transport=pigeon",
        "EIO=4&transport=polling&sid=unknown",
        "EIO=4&transport=websocket",
    ],
)
def test_a_bad_handshake_is_a_400(server: RunningServer, query: str) -> None:
    assert server.request("GET", f"/socket.io/?{query}")[0] == 400


@pytest.mark.parametrize(
    "raw",
    [
        b"\x00\x01\x02\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\nContent-Length: abc\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"".join(b"X-%d: 1\r\n" % i for i in range(200)) + b"\r\n",
        b"POST /api/devices HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
    ],
)
def test_a_bad_http_request_is_a_4xx(server: RunningServer, raw: bytes) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_S) as sock:
        sock.sendall(raw)
        answer = sock.recv(65536)

    assert answer.split()[1][:1] == b"4", answer


def read_to_the_end(sock: socket.socket) -> bytes:
    """All that comes until the server closes, or resets."""
    received = b""
    with contextlib.suppress(ConnectionResetError):
        while chunk := sock.recv(65536):
            received += chunk
    return received
