"""Requests that are no HTTP, or HTTP that nobody here understands: a problem document (RFC 9457) all the same."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator

import pytest

from tests.support.patience import PATIENCE_S
from tests.support.server import ADMIN_TOKEN, RunningServer, running_server

HOST = b"Host: siar.local\r\n"


@pytest.fixture(scope="module", params=["eventlet", "gevent"])
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningServer]:
    folder = tmp_path_factory.mktemp("unreadable")
    with running_server(folder, green_threads=request.param, recorder=0) as running:
        yield running
        assert "Traceback" not in running.log()


def answer(server: RunningServer, request: bytes) -> tuple[int, dict[str, str], bytes]:
    """Status, headers by lower-case name and body of the one answer, after which the connection has ended."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_S) as link:
        link.sendall(request)
        data = b""
        while piece := link.recv(65_536):
            data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    status_line, *lines = head.decode().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return int(status_line.split()[1]), headers, body


def publish(codings: str) -> bytes:
    """A publish in chunks that is said to have these transfer codings; the connection may not be needed again."""
    body = json.dumps({"title": "a", "body": "b"})
    fields = "".join(f"Transfer-Encoding: {each}\r\n" for each in codings.split(";"))
    head = f"POST /api/notifications HTTP/1.1\r\nHost: siar.local\r\nAuthorization: Bearer {ADMIN_TOKEN}\r\n"
    return f"{head}Connection: close\r\n{fields}\r\n{len(body):x}\r\n{body}\r\n0\r\n\r\n".encode()


@pytest.mark.parametrize(
    ("codings", "status", "code"),
    [
        ("gzip, chunked", 501, "transfer_coding"),
        ("gzip;chunked", 501, "transfer_coding"),
        ("GZip,Chunked", 501, "transfer_coding"),
        ("deflate, gzip, chunked", 501, "transfer_coding"),
        ("identity, chunked", 501, "transfer_coding"),
        ("br, chunked", 501, "transfer_coding"),
        ("br", 501, "transfer_coding"),
        ("gzip", 400, "request_unreadable"),
        ("chunked, gzip", 400, "request_unreadable"),
        ("chunked, chunked", 400, "request_unreadable"),
    ],
)
def test_a_transfer_coding_that_is_not_taken_off_is_not_published(
    server: RunningServer, codings: str, status: int, code: str
) -> None:
    """A coding that is not understood is 501 (RFC 9112, section 6.1), a body without an end 400 (section 6.3)."""
    answered, _headers, body = answer(server, publish(codings))

    assert answered == status, body
    assert json.loads(body)["code"] == code


@pytest.mark.parametrize("codings", ["chunked", "Chunked"])
def test_a_publish_in_chunks_is_taken(server: RunningServer, codings: str) -> None:
    assert answer(server, publish(codings))[0] == 201


UNREADABLE = {
    "no HTTP": (b"hello\r\n\r\n", 400, "request_unreadable"),
    "not its version": (b"GET / HTTP/7.0\r\n" + HOST + b"\r\n", 400, "request_unreadable"),
    "a strange method": (b"G(T / HTTP/1.1\r\n" + HOST + b"\r\n", 400, "request_unreadable"),
    "a header without a name": (b"GET / HTTP/1.1\r\n" + HOST + b": a\r\n\r\n", 400, "request_unreadable"),
    "folded": (b"GET / HTTP/1.1\r\n" + HOST + b"A: b\r\n c\r\n\r\n", 400, "request_unreadable"),
    "a length that is none": (
        b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: x\r\n\r\n",
        400,
        "request_unreadable",
    ),
    "another expectation": (b"GET / HTTP/1.1\r\n" + HOST + b"Expect: more\r\n\r\n", 417, "request_unreadable"),
    "a long address": (b"GET /" + b"x" * 5000 + b" HTTP/1.1\r\n" + HOST + b"\r\n", 414, "address_too_long"),
    "a long header": (b"GET / HTTP/1.1\r\n" + HOST + b"A: " + b"x" * 20_000 + b"\r\n\r\n", 431, "head_too_long"),
    "many headers": (b"GET / HTTP/1.1\r\n" + HOST + b"A: b\r\n" * 200 + b"\r\n", 431, "head_too_long"),
}  # fmt: skip


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_gunicorn_itself_refuses_is_a_problem_document_too(server: RunningServer, name: str) -> None:
    request, status, code = UNREADABLE[name]

    answered, headers, body = answer(server, request)
    problem = json.loads(body)

    assert answered == status, body
    assert headers["content-type"] == "application/problem+json"
    assert headers["content-language"] == "en"
    assert headers["connection"] == "close"
    assert int(headers["content-length"]) == len(body) < 1000
    assert headers["date"].endswith(" GMT")
    assert (problem["type"], problem["status"], problem["code"]) == ("about:blank", status, code)
    assert set(problem) == {"type", "title", "status", "detail", "code", "parameters"}
    assert len(problem["detail"]) > 10


def test_a_chunk_without_a_size_is_a_problem_document_too(server: RunningServer) -> None:
    """It is found out when the view reads the body."""
    head = f"POST /api/devices HTTP/1.1\r\nHost: siar.local\r\nAuthorization: Bearer {ADMIN_TOKEN}\r\n"

    answered, headers, body = answer(
        server, f"{head}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n".encode()
    )

    assert answered == 400
    assert headers["content-type"] == "application/problem+json"
    assert json.loads(body)["code"] == "body_unreadable"
