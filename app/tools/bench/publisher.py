"""The publisher: one POST after another on a keep-alive connection, with as little Python as possible."""

from __future__ import annotations

import contextlib
import json
import re
import socket
from dataclasses import dataclass
from typing import Any

from app import clock
from app.core.errors import Unfit
from app.tools.bench import wire

TIMEOUT_S = 180.0
"""A burst inside a slow server is answered only when it is over."""

_HEAD_END = b"\r\n\r\n"
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Publication:
    """The answer to a publish."""

    started_us: int
    """CLOCK_MONOTONIC, before the first byte was written."""
    offset: int
    recipients: int


@dataclass(frozen=True, slots=True)
class ServerState:
    """A server's own counts."""

    recipients: int
    paths: dict[str, int]
    """Numbers of connections by fan-out path."""
    processes: int


class Publisher:
    """A connection to one server. Its methods raise `Unfit` if the server does not answer as expected."""

    def __init__(self, host: str, port: int, token: str) -> None:
        try:
            self._sock = socket.create_connection((host, port), timeout=TIMEOUT_S)
        except OSError as error:
            raise Unfit(f"The server under test does not answer: {error}.") from error
        self._sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._head = f"Host: {host}:{port}\r\nAuthorization: Bearer {token}\r\n"
        self._publish = self._request("POST", wire.PUBLISH_PATH, {"title": wire.TITLE, "body": wire.BODY})

    def publish(self) -> Publication:
        """Publish one notification to all subscribers."""
        started_us = clock.monotonic_us()
        answer = self._exchange(self._publish)
        return Publication(started_us, answer["offset"], sum(answer["recipients"].values()))

    def burst(self, count: int) -> tuple[list[int], int]:
        """Publish `count` notifications from inside the server. Returns when each began, and the last offset."""
        answer = self._exchange(self._request("POST", wire.BURST_PATH, {"count": count}))
        return answer["starts_us"], answer["offset"]

    def blast(self, count: int, *, merged: int) -> tuple[list[int], int]:
        """Publish from inside the floor, with `merged` notifications per write; all have the same start time."""
        answer = self._exchange(self._request("POST", wire.BLAST_PATH, {"count": count, "merged": merged}))
        return answer["starts_us"], answer["offset"]

    def state(self) -> ServerState:
        """Return the numbers of connections over all processes, in total and by path."""
        answer = self._exchange(self._request("GET", wire.STATE_PATH, None))
        return ServerState(sum(answer["recipients"].values()), answer["paths"], answer.get("processes", 1))

    def close(self) -> None:
        """Close the connection."""
        with contextlib.suppress(OSError):
            self._sock.close()

    def _request(self, method: str, path: str, body: object) -> bytes:
        text = b"" if body is None else json.dumps(body).encode()
        kind = "" if body is None else f"Content-Type: application/json\r\nContent-Length: {len(text)}\r\n"
        return f"{method} {path} HTTP/1.1\r\n{self._head}{kind}\r\n".encode() + text

    def _exchange(self, request: bytes) -> dict[str, Any]:
        try:
            self._sock.sendall(request)
            status, body = self._response()
        except OSError as error:
            raise Unfit(f"The server under test does not answer any more: {error}.") from error
        if not 200 <= status < 300:
            raise Unfit(f"The server under test answered {status}: {body[:200]!r}.")
        answer: dict[str, Any] = json.loads(body)
        return answer

    def _response(self) -> tuple[int, bytes]:
        data = b""
        while True:
            more = self._sock.recv(65_536)
            if not more:
                raise ConnectionError("it closed the connection")
            data += more
            head, found, body = data.partition(_HEAD_END)
            if not found:
                continue
            length = _LENGTH.search(head)
            if length is None:
                raise ConnectionError("its answer has no length")
            if len(body) >= int(length[1]):
                return int(head.split(b" ", 2)[1]), body
