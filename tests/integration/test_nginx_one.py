"""`deploy/nginx.conf` in a real nginx, before one server and its clock channel."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from websockets.sync.client import connect

from app.server.tls import keep
from tests.support.nginx import Ports, nginx_before_one
from tests.support.patience import PATIENCE_S
from tests.support.server import RunningServer, running_server

pytestmark = pytest.mark.slow


@dataclass(frozen=True, slots=True)
class Front:
    """nginx and the server behind it."""

    ports: Ports
    certificate: Path
    server: RunningServer

    def trust(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self.certificate)


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    folder = tmp_path_factory.mktemp("nginx")
    files = keep.make("self", folder / "tls", ["127.0.0.1"])
    with running_server(folder, trusted_proxies="127.0.0.1", recorder=0) as server:
        assert server.clock_port
        with nginx_before_one(
            folder / "nginx", server.port, server.clock_port, certificate=files.certificate, key=files.key
        ) as ports:
            yield Front(ports, files.certificate, server)


def read_until(answer: http.client.HTTPResponse, wanted: bytes) -> bytes:
    """What came until this was in it. The answer goes on: what a proxy holds back would never come."""
    received = b""
    while wanted not in received:
        chunk = answer.read1(65_536)
        assert chunk, received
        received += chunk
    return received


def test_a_stream_comes_through_the_recommended_nginx_while_it_is_open(before: Front) -> None:
    link = http.client.HTTPSConnection(
        "127.0.0.1", before.ports.service, timeout=PATIENCE_S, context=before.trust()
    )
    with contextlib.closing(link):
        link.request("GET", "/events", headers={"Accept-Encoding": "gzip"})
        answer = link.getresponse()
        prelude = read_until(answer, b"retry:")
        before.server.publish("while open")
        read_until(answer, b'"title":"while open"')

    assert answer.status == 200
    assert answer.headers["Content-Encoding"] is None, "nginx compresses everything else"
    assert b"while open" not in prelude


def test_a_websocket_and_the_clock_channel_come_through_the_recommended_nginx(before: Front) -> None:
    url = f"wss://127.0.0.1:{before.ports.service}/socket.io/?EIO=4&transport=websocket"
    with connect(url, ssl=before.trust(), open_timeout=PATIENCE_S) as channel:
        assert str(channel.recv(timeout=PATIENCE_S)).startswith("0{")
        channel.send("40")
        assert str(channel.recv(timeout=PATIENCE_S)).startswith("40{")
        before.server.publish("live")
        told = str(channel.recv(timeout=PATIENCE_S))
    clock_url = f"wss://127.0.0.1:{before.ports.clock}/"
    with connect(clock_url, ssl=before.trust(), open_timeout=PATIENCE_S, compression=None) as clock:
        clock.send(json.dumps({"probe": 7}))
        stamps = json.loads(clock.recv(timeout=PATIENCE_S))

    assert told.startswith('42["notification",')
    assert stamps["received_us"] <= stamps["sent_us"]


def test_the_recommended_nginx_speaks_http2(before: Front) -> None:
    trust = before.trust()
    trust.set_alpn_protocols(["h2", "http/1.1"])
    with (
        socket.create_connection(("127.0.0.1", before.ports.service), timeout=PATIENCE_S) as plain,
        trust.wrap_socket(plain, server_hostname="127.0.0.1") as secure,
    ):
        spoken = secure.selected_alpn_protocol()

    assert spoken == "h2"
