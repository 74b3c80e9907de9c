"""WebSocket handshakes (RFC 6455, section 4.2) on every path, and the clock channel's, byte by byte."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from tests.support.patience import PATIENCE_S
from tests.support.server import GUNICORN, RunningServer, free_port, running_server
from tests.support.streams import read_until

ENGINE = "/socket.io/?EIO=4&transport=websocket"

HANDSHAKE = {
    "Host": "localhost",
    "Upgrade": "websocket",
    "Connection": "Upgrade",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}


KINDS = {"eventlet": [], "gevent": [], "flask run": [pytest.mark.slow]}
"""Servers, with their marks."""


def everywhere(*places: str) -> pytest.MarkDecorator:
    """Run a test on each server at each of the places that it has: `flask run` starts no clock channel."""
    ways = [
        pytest.param(kind, place, marks=marks)
        for kind, marks in KINDS.items()
        for place in places
        if (kind, place) != ("flask run", "clock")
    ]
    return pytest.mark.parametrize(("server", "place"), ways, indirect=True)


@pytest.fixture(scope="module")
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningServer]:
    port = free_port()
    is_flask = request.param == "flask run"
    command = ["-m", "flask", "--app", "wsgi", "run", "--port", str(port)] if is_flask else list(GUNICORN)
    options = {} if is_flask else {"green_threads": request.param}
    folder = tmp_path_factory.mktemp("handshakes")
    with running_server(folder, command=command, port=port, recorder=0, **options) as running:
        yield running
        assert "Traceback" not in running.log(), running.log()


@pytest.fixture
def place(request: pytest.FixtureRequest, server: RunningServer) -> tuple[int, str]:
    """The port and the target of a WebSocket."""
    if request.param == "clock":
        assert server.clock_port is not None
        return server.clock_port, "/"
    return server.port, ENGINE + ("&fanout=stock" if request.param == "stock" else "")


def shake(place: tuple[int, str], **changed: str | None) -> tuple[int, list[str]]:
    """The status and the lines of the head that answers `HANDSHAKE` with `changed` in it."""
    given = HANDSHAKE | {name.replace("_", "-"): value for name, value in changed.items()}
    lines = [f"GET {place[1]} HTTP/1.1", *(f"{name}: {value}" for name, value in given.items() if value)]
    with socket.create_connection(("127.0.0.1", place[0]), timeout=PATIENCE_S) as sock:
        sock.sendall("\r\n".join([*lines, "", ""]).encode())
        head = read_until(sock, b"\r\n\r\n").partition(b"\r\n\r\n")[0].decode().lower().split("\r\n")
    return int(head[0].split()[1]), head[1:]


@everywhere("direct", "stock", "clock")
@pytest.mark.parametrize("offered", ["mqtt", "v12.stomp, v11.stomp"])
def test_the_first_subprotocol_that_is_offered_is_chosen(place: tuple[int, str], offered: str) -> None:
    """As Node's server does (`ws`); a browser ends a connection for which none is chosen."""
    status, head = shake(place, Sec_WebSocket_Protocol=offered)

    assert status == 101
    assert f"sec-websocket-protocol: {offered.split(',')[0]}" in head


@everywhere("direct", "stock", "clock")
def test_who_offers_no_subprotocol_is_given_none(place: tuple[int, str]) -> None:
    status, head = shake(place)

    assert status == 101
    assert not any(line.startswith("sec-websocket-protocol") for line in head)
    assert "sec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo=" in head, "of RFC 6455, section 1.3"


@everywhere("direct", "stock", "clock")
@pytest.mark.parametrize("upgrade", ["WebSocket", "websocket, h2c", "h2c , websocket"])
def test_upgrade_is_a_list(place: tuple[int, str], upgrade: str) -> None:
    assert shake(place, Upgrade=upgrade, Connection="keep-alive, Upgrade")[0] == 101


@everywhere("direct", "stock", "clock")
@pytest.mark.parametrize("version", ["8", "14", "13, 8", None])
def test_of_another_version_it_says_which_one_it_speaks(place: tuple[int, str], version: str | None) -> None:
    status, head = shake(place, Sec_WebSocket_Version=version)

    assert status == 426
    assert "sec-websocket-version: 13" in head
    assert "upgrade: websocket" in head


@everywhere("direct", "stock", "clock")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Connection", "keep-alive"),
        ("Sec_WebSocket_Key", None),
        ("Sec_WebSocket_Key", "c2hvcnQ="),
        ("Sec_WebSocket_Key", "?" * 24),
        ("Sec_WebSocket_Protocol", "a b"),
    ],
)
def test_what_is_no_handshake_is_refused(place: tuple[int, str], name: str, value: str | None) -> None:
    assert shake(place, **{name: value})[0] in (400, 426)


@everywhere("direct", "stock", "clock")
def test_text_that_is_not_utf8_ends_with_1007(place: tuple[int, str]) -> None:
    assert close_code(place, b"\x81\x83\0\0\0\0" + b"4\xff\xff") == 1007


@everywhere("direct", "stock")
def test_text_in_fragments_that_is_not_utf8_ends_with_1007(place: tuple[int, str]) -> None:
    """The clock channel takes no fragments."""
    assert close_code(place, b"\x01\x82\0\0\0\0" + b"4\xc3" + b"\x80\x81\0\0\0\0" + b"(") == 1007


def close_code(place: tuple[int, str], frames: bytes) -> int:
    """The code by which the server closes a WebSocket on which these frames came."""
    lines = [f"GET {place[1]} HTTP/1.1", *(f"{name}: {value}" for name, value in HANDSHAKE.items())]
    with socket.create_connection(("127.0.0.1", place[0]), timeout=PATIENCE_S) as sock:
        sock.sendall("\r\n".join([*lines, "", ""]).encode())
        read_until(sock, b"\r\n\r\n")
        sock.sendall(frames)
        received = b""
        while chunk := sock.recv(4096):
            received += chunk
    close = received[received.index(b"\x88") :]
    return int.from_bytes(close[2:4])
