"""A client that publishes on one connection with known writes."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
from collections.abc import Iterator
from typing import Any

from tests.support.patience import PATIENCE_S
from tests.support.server import ADMIN_TOKEN


def publish(title: str, **members: Any) -> bytes:
    """Return the body of a publish."""
    return json.dumps({"title": title, "body": "", **members}).encode()


def asking(body: bytes, *lines: str, token: str = ADMIN_TOKEN) -> bytes:
    """Return a complete request."""
    head = [
        *("POST /api/notifications HTTP/1.1", "Host: localhost", f"Authorization: Bearer {token}"),
        *("Content-Type: application/json", f"Content-Length: {len(body)}", *lines, "", ""),
    ]
    return "\r\n".join(head).encode() + body


class Talk:
    """One connection; each send is a single write."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self._file = sock.makefile("rb")

    def ask(self, data: bytes) -> tuple[int, Any]:
        """Send one request and return its answer."""
        self.sock.sendall(data)
        return self.answer()

    def answer(self) -> tuple[int, Any]:
        """Return status and JSON of the next answer, which must keep the connection open."""
        status = int(self._file.readline().split()[1])
        headers = http.client.parse_headers(self._file)
        assert headers["Connection"] == "keep-alive"
        return status, json.loads(self._file.read(int(headers["Content-Length"])))

    def is_over(self) -> bool:
        """Return whether the server closes the connection without sending more."""
        return self._file.read(1) == b""


@contextlib.contextmanager
def talking(port: int) -> Iterator[Talk]:
    """Open a connection for the block."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield Talk(sock)
