"""Repeated requests on one connection: the time to a server, PING to Redis."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
from collections.abc import Callable

from app import clock
from app.core.wire import USER_AGENT

ANSWER_TIMEOUT_S = 5.0
"""A later answer counts as a failure."""

NO_ANSWER = (OSError, ValueError, KeyError, http.client.HTTPException)
"""Exceptions of a request that is not answered, or not as expected."""


class LatencyProbe:
    """Sends requests on one connection, which is opened again after a failure, and records their durations."""

    def __init__(self, connect: Callable[[], ClockClient | PingClient]) -> None:
        self._connect = connect
        self._connection: ClockClient | PingClient | None = None
        self.us: list[int] = []
        self.failures = 0
        with contextlib.suppress(*NO_ANSWER):
            # The first answer on a connection includes its handshake, so it is not recorded.
            self._request()

    @property
    def count(self) -> int:
        """Number of answers and failures so far."""
        return len(self.us) + self.failures

    def ask(self, _due: int) -> None:
        """Send one request and record its duration or failure."""
        try:
            self.us.append(self._request())
        except NO_ANSWER:
            self.failures += 1
            self.close()

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _request(self) -> int:
        if self._connection is None:
            self._connection = self._connect()
        return self._connection.ask()


class ClockClient:
    """Requests the server's time. Server and runner share a clock: one machine, one anchor."""

    def __init__(self, host: str, port: int) -> None:
        self._connection = http.client.HTTPConnection(host, port, timeout=ANSWER_TIMEOUT_S)
        self.close = self._connection.close

    def ask(self) -> int:
        """Return the time from sending the request to the server's first stamp."""
        sent_us = clock.now_us()
        self._connection.request("GET", "/api/clock", headers={"User-Agent": USER_AGENT})
        times = json.loads(self._connection.getresponse().read())
        return int(times["received_us"]) - sent_us


class PingClient:
    """Sends PING to Redis in its own protocol."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=ANSWER_TIMEOUT_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.close = self._socket.close

    def ask(self) -> int:
        """Return the round trip time."""
        sent_us = clock.monotonic_us()
        self._socket.sendall(b"PING\r\n")
        if self._socket.recv(64) != b"+PONG\r\n":
            raise ValueError("Redis says something else than PONG.")
        return clock.monotonic_us() - sent_us
