"""Host on the wire (RFC 9112, section 3.2), on every path that a request can take through the server."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.clock_process import start
from tests.support.patience import PATIENCE_S
from tests.support.server import ADMIN_TOKEN, GUNICORN, ROOT, RunningServer, running_server


@pytest.fixture(
    scope="module",
    params=[("eventlet", "direct"), ("eventlet", "stock"), ("gevent", "direct"), ("gevent", "stock")],
    ids="-".join,
)
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningServer]:
    green_threads, fanout = request.param
    folder = tmp_path_factory.mktemp("hosts")
    with running_server(folder, green_threads=green_threads, fanout=fanout, recorder=0) as running:
        yield running
        assert "Traceback" not in running.log()


def answers(server: RunningServer, *requests: bytes) -> list[bytes]:
    """The first line of each answer on one connection, which asks again when it has been answered."""
    found = []
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_S) as link:
        for request in requests:
            link.sendall(request)
            found.append(first_line(link))
    return found


def first_line(link: socket.socket) -> bytes:
    """Status and body of one answer; the body is read if its length is given."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = link.recv(65_536)
        if not piece:
            return data
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    length = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    while length and len(body) < int(length[0].split(b":")[1]):
        body += link.recv(65_536)
    return head.split(b"\r\n")[0]


SOCKET_IO = "/socket.io/?EIO=4&transport="
UPGRADE = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MTIzNDU2Nzg5MDEyMzQ1Ng==\r\n"

PATHS = {
    "page": ("/", ""),
    "stream": ("/events", "Accept: text/event-stream\r\n"),
    "polling": (f"{SOCKET_IO}polling", ""),
    "websocket": (f"{SOCKET_IO}websocket", UPGRADE),
    "absent": ("/nothing/here", ""),
}


def get(target: str, headers: str, version: str = "1.1") -> bytes:
    return f"GET {target} HTTP/{version}\r\n{headers}\r\n".encode()


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "hosts", ["", "Host: a.local\r\nHost: b.local\r\n", "Host: a.local\r\nHost: a.local\r\n"]
)
def test_a_request_without_one_host_is_400(server: RunningServer, path: str, hosts: str) -> None:
    target, headers = PATHS[path]

    assert answers(server, get(target, hosts + headers))[0].startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize("path", PATHS)
def test_the_host_of_an_absolute_target_counts(server: RunningServer, path: str) -> None:
    target, headers = PATHS[path]
    here = f"http://siar.local:{server.port}{target}"

    (ours,) = answers(server, get(here, "Host: evil.example\r\n" + headers))
    (foreign,) = answers(server, get(f"http://evil.example{target}", "Host: siar.local\r\n" + headers))

    assert ours.split()[1] in (b"200", b"101", b"404")
    assert foreign.startswith(b"HTTP/1.1 421 ")


def test_an_absolute_target_s_origin_is_its_own_page_s(server: RunningServer) -> None:
    target = "http://siar.local/api/clock"

    (own,) = answers(server, get(target, "Host: other.local\r\nOrigin: http://siar.local\r\n"))
    (other,) = answers(server, get(target, "Host: other.local\r\nOrigin: http://other.local\r\n"))

    assert (own.split()[1], other.split()[1]) == (b"200", b"403")


def publish(target: str, hosts: str) -> bytes:
    body = json.dumps({"title": "a", "body": "b"})
    head = f"Authorization: Bearer {ADMIN_TOKEN}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    return f"POST {target} HTTP/1.1\r\n{hosts}{head}\r\n{body}".encode()


@pytest.mark.parametrize(
    ("target", "hosts", "status"),
    [
        ("/api/notifications", "", b"400"),
        ("/api/notifications", "Host: a.local\r\nHost: a.local\r\n", b"400"),
        ("http://evil.example/api/notifications", "Host: a.local\r\n", b"421"),
        ("http://a.local/api/notifications", "Host: evil.example\r\n", b"201"),
    ],
)
def test_a_publish_amid_others_of_its_connection_is_judged_by_its_own_host(
    server: RunningServer, target: str, hosts: str, status: bytes
) -> None:
    good = publish("/api/notifications", "Host: a.local\r\n")

    lines = answers(server, good, good, good, publish(target, hosts))

    assert [line.split()[1] for line in lines] == [b"201", b"201", b"201", status]


def test_http_1_0_is_served_without_a_host(server: RunningServer) -> None:
    (line,) = answers(server, get("/healthz", "", version="1.0"))

    assert line.split()[1] == b"200"


def test_a_name_below_localhost_is_this_machine(server: RunningServer) -> None:
    (line,) = answers(server, get("/", "Host: x.localhost\r\n"))

    assert line.split()[1] == b"200"


def test_the_refusal_is_a_problem_document(server: RunningServer) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_S) as link:
        link.sendall(get("/", "Connection: close\r\n"))
        answer = b"".join(iter(lambda: link.recv(65_536), b""))

    assert b"application/problem+json" in answer
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["code"] == "one_host"


@pytest.mark.parametrize("hosts", ["", "Host: 127.0.0.1\r\nHost: 127.0.0.1\r\n"])
def test_the_clock_channel_asks_for_one_host_too(hosts: str) -> None:
    running = start()
    try:
        with socket.create_connection(("127.0.0.1", running.port), timeout=PATIENCE_S) as link:
            link.sendall(get("/", hosts + UPGRADE))
            line = first_line(link)
    finally:
        running.end()

    assert line.startswith(b"HTTP/1.1 400 ")


def test_script_name_is_a_prefix_and_not_the_end_of_every_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCRIPT_NAME", "/siar")
    with running_server(tmp_path, recorder=0) as server:
        statuses = [server.request("GET", path)[0] for path in ("/healthz", "/siar/healthz", "/siar", "/")]
        _status, page = server.request("GET", "/siar/")
        _status, document = server.request("GET", "/siar/api/openapi.json")

    assert statuses == [200] * 4
    assert 'src="/siar/static/js/page.js"' in page
    assert document["servers"] == [{"url": "/siar"}]


def test_a_prefix_that_can_be_none_ends_the_start_in_words(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SIAR_")}
    done = subprocess.run(
        [sys.executable, "-P", *GUNICORN],
        cwd=tmp_path,
        env={**environment, "PYTHONPATH": str(ROOT), "SIAR_PREFIX": "/api"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )

    assert done.returncode != 0
    assert 'SIAR_PREFIX (or SCRIPT_NAME) is "/api"' in done.stderr
    assert "Traceback" not in done.stderr
