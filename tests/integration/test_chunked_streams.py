"""Event streams in chunks: readers get each notification when it comes, and a whole stream is told from a torn one."""

from __future__ import annotations

import contextlib
import http.client
import os
import signal
import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import requests
import urllib3

from app.core.protocol.http_response import ResponseDecoder
from tests.support.fanouts import FANOUTS
from tests.support.metrics import await_metric
from tests.support.patience import PATIENCE_S
from tests.support.server import RunningServer, running_server
from tests.support.streams import read_until

PROMPT_S = 10.0

GET = b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n"


def by_iter_lines(url: str) -> Iterator[bytes]:
    """`requests` as most programs use it."""
    with requests.get(url, stream=True, timeout=PATIENCE_S) as answer:
        yield from answer.iter_lines()


def by_iterating(url: str) -> Iterator[bytes]:
    """`for piece in response`, which is what sseclient-py does with what its README gives it."""
    with requests.get(url, stream=True, timeout=PATIENCE_S) as answer:
        yield from answer


def by_urllib3(url: str) -> Iterator[bytes]:
    """urllib3 alone, in pieces of its own default size."""
    with urllib3.PoolManager() as pool:
        answer = pool.request("GET", url, preload_content=False, timeout=PATIENCE_S)
        yield from answer.stream()


def by_http_client(url: str) -> Iterator[bytes]:
    """The standard library, line by line."""
    link = http.client.HTTPConnection(url.split("/")[2], timeout=PATIENCE_S)
    with contextlib.closing(link):
        link.request("GET", "/events")
        with link.getresponse() as answer:
            yield from answer


READERS = [by_iter_lines, by_iterating, by_urllib3, by_http_client]


@pytest.fixture(scope="module", params=FANOUTS)
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningServer]:
    folder = tmp_path_factory.mktemp("chunks")
    with running_server(folder, recorder=0, fanout=request.param, heartbeat_s=60) as running:
        yield running


@pytest.mark.parametrize("reader", READERS, ids=lambda each: each.__name__)
def test_pythons_readers_get_a_notification_at_once(
    reader: Callable[[str], Iterator[bytes]], server: RunningServer
) -> None:
    """Without chunks urllib3 waits until its buffer is full; the next heartbeat is a minute away."""
    await_metric(server, 'siar_connections{transport="sse"}', 0)
    title, received_s = f"To {reader.__name__}", list[float]()

    def read() -> None:
        with contextlib.suppress(OSError, requests.RequestException, urllib3.exceptions.HTTPError):
            for piece in reader(f"{server.url}/events"):
                if title.encode() in piece:
                    received_s.append(time.monotonic())
                    return

    reading = threading.Thread(target=read, daemon=True)
    reading.start()
    await_metric(server, 'siar_connections{transport="sse"}', 1)
    published_s = time.monotonic()
    server.publish(title, "x")
    reading.join(PATIENCE_S)

    assert received_s, "nothing came"
    assert received_s[0] - published_s < PROMPT_S


@pytest.mark.parametrize("fanout", FANOUTS)
@pytest.mark.parametrize("compression", [0, 1])
def test_a_stream_that_the_server_ends_is_whole(fanout: str, compression: int, tmp_path: Path) -> None:
    decoder, body = ResponseDecoder(), b""
    with (
        running_server(tmp_path, recorder=0, fanout=fanout, compression=compression) as server,
        socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_S) as sock,
    ):
        missed = server.publish("Missed", "")["id"]
        server.publish("Replayed", "")
        sock.sendall(
            b"GET /events HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n"
            b"Last-Event-ID: %b\r\n\r\n" % missed.encode()
        )
        await_metric(server, 'siar_connections{transport="sse"}', 1)
        server.publish("Live", "")
        server.process.send_signal(signal.SIGTERM)
        while data := sock.recv(65_536):
            body += decoder.feed(data)

    assert decoder.head is not None
    assert decoder.head.headers["transfer-encoding"] == "chunked"
    assert decoder.finished
    text = zlib.decompressobj(wbits=31).decompress(body) if compression else body
    places = [text.index(each) for each in (b"retry: ", b'"Replayed"', b'"Live"')]
    assert places == sorted(places)
    assert text.rindex(b"retry: ") > places[-1]


def test_a_stream_of_a_server_that_is_killed_is_torn(tmp_path: Path) -> None:
    decoder = ResponseDecoder()
    with (
        running_server(tmp_path, recorder=0) as server,
        socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_S) as sock,
    ):
        sock.sendall(GET)
        decoder.feed(read_until(sock, b"id: "))
        os.killpg(server.process.pid, signal.SIGKILL)
        with contextlib.suppress(ConnectionResetError):
            while data := sock.recv(65_536):
                decoder.feed(data)

    assert not decoder.finished


def test_http_1_0_keeps_the_end_by_connection(tmp_path: Path) -> None:
    with (
        running_server(tmp_path, recorder=0) as server,
        socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_S) as sock,
    ):
        sock.sendall(b"GET /events HTTP/1.0\r\nHost: localhost\r\n\r\n")
        await_metric(server, 'siar_connections{transport="sse"}', 1)
        server.publish("Old", "")
        received = read_until(sock, b'"Old"')

    head, _, body = received.partition(b"\r\n\r\n")
    assert b"transfer-encoding" not in head.lower()
    assert body.startswith(b"retry: ")
    assert b"\r\n" not in body
