"""The protocol app on each kind of server, and raw clients with one interface for polling and WebSocket."""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from app.server.transports.socket_io.engine.limits import UPGRADE_TIMEOUT_S
from tests.support.patience import PATIENCE_S
from tests.support.server import ROOT, RunningServer, running_server

SEPARATOR = "\x1e"

CLOSED_S_MAX = 0.9 * UPGRADE_TIMEOUT_S
"""Timeout for what the server closes at once; an upgrade that it did not close would time out a little later."""

END_S_MAX = 20.0
"""Timeout for what the server closes at once; a heartbeat would come only after 25 s."""

WAYS = (
    ("eventlet", "direct"),
    pytest.param(("eventlet", "stock"), marks=pytest.mark.slow),
    pytest.param(("gevent", "direct"), marks=pytest.mark.slow),
    pytest.param(("threads", "stock"), marks=pytest.mark.slow),
)
"""Combinations of (kind of threads, fan-out) on which every case is run."""

Answer = tuple[int, str]


class Ended(Exception):
    """The session has ended, from its client's view."""


@contextlib.contextmanager
def protocol_server(tmp_path: Path, way: tuple[str, str], **options: Any) -> Iterator[RunningServer]:
    """Run the app of protocol_app.py with `options`."""
    threads, fanout = way
    options["fanout"] = fanout
    call = ", ".join(f"{name}={value!r}" for name, value in options.items())
    command = ["-m", "gunicorn", "-c", str(ROOT / "gunicorn.conf.py")]
    if threads == "gevent":
        command += ["-k", "app.server.wsgi.gevent_worker.GeventWorker"]
    command.append(f"tests.support.protocol_app:create_app({call})")
    if threads == "threads":
        command = ["-m", "tests.support.protocol_app", json.dumps(options)]
    with running_server(tmp_path, command=command, recorder=0, log_level="info") as server:
        yield server
    assert "Traceback" not in server.log(), server.log()


@dataclass(slots=True)
class Endpoint:
    """Address of an Engine.IO server."""

    port: int
    path: str = "/engine.io/"

    def request(
        self,
        query: str,
        body: str | bytes | None = None,
        *,
        method: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> Answer:
        """Send one HTTP request on a new connection."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        data = body.encode() if isinstance(body, str) else body
        try:
            connection.request(
                method or ("GET" if body is None else "POST"),
                f"{self.path}?{query}",
                body=data,
                headers=headers or {},
            )
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()

    def websocket(self, query: str = "EIO=4&transport=websocket", **options: Any) -> ClientConnection:
        """Open a WebSocket; its handshake is complete."""
        url = f"ws://127.0.0.1:{self.port}{self.path}?{query}"
        options = {
            "open_timeout": PATIENCE_S,
            "close_timeout": 2,
            "max_queue": None,
            "ping_interval": None,
            "legacy": True,
        } | options
        return connect(url, **options)

    def state(self, sid: str) -> dict[str, Any]:
        """Return the session's state (echo server only)."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        connection.request("GET", f"/sessions/{sid}")
        state: dict[str, Any] = json.loads(connection.getresponse().read())
        connection.close()
        return state


class Polling:
    """A session by HTTP long polling."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        status, body = endpoint.request("EIO=4&transport=polling")
        assert status == 200, body
        assert body[0] == "0", body
        self.opened: dict[str, Any] = json.loads(body[1:])
        self.sid: str = self.opened["sid"]
        self.query = f"EIO=4&transport=polling&sid={self.sid}"
        self._received: deque[str | bytes] = deque()

    def get(self) -> Answer:
        """Poll once and wait for the answer."""
        return self.endpoint.request(self.query)

    def post(self, body: str | bytes) -> Answer:
        """Send one POST."""
        return self.endpoint.request(self.query, body)

    def pending_get(self) -> Future[Answer]:
        """Start a poll, and return when the server has received it."""
        future: Future[Answer] = Future()

        def poll() -> None:
            try:
                future.set_result(self.get())
            except BaseException as error:  # noqa: BLE001 - passed on to the future's owner
                future.set_exception(error)

        threading.Thread(target=poll, daemon=True).start()
        self.wait_until(lambda state: state.get("is_polled") or future.done())
        return future

    def wait_until(
        self, condition: Callable[[dict[str, Any]], Any], within_s: float = PATIENCE_S
    ) -> dict[str, Any]:
        """Request the session's state until the condition holds."""
        deadline_s = time.monotonic() + within_s
        while not condition(state := self.endpoint.state(self.sid)):
            assert time.monotonic() < deadline_s, state
            time.sleep(0.005)
        return state

    def send(self, *packets: str | bytes) -> None:
        """Send packets in one POST, which must be accepted."""
        status, body = self.post(SEPARATOR.join(map(_for_polling, packets)))
        if (status, body) != (200, "ok"):
            raise Ended(body)

    def receive(self) -> str | bytes:
        """Return the next packet."""
        while not self._received:
            status, body = self.get()
            if status != 200:
                raise Ended(body)
            self._received.extend(map(_from_polling, body.split(SEPARATOR)))
        return _not_the_end(self._received.popleft())

    def close(self) -> None:
        """Leave, if the session has not ended."""
        with contextlib.suppress(OSError, http.client.HTTPException):
            self.post("1")


class WebSocket:
    """A session by WebSocket only."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.connection = endpoint.websocket()
        body = self.connection.recv(timeout=PATIENCE_S)
        assert isinstance(body, str)
        assert body[0] == "0", body
        self.opened: dict[str, Any] = json.loads(body[1:])
        self.sid: str = self.opened["sid"]

    def send(self, *packets: str | bytes) -> None:
        """Send packets, one per message."""
        try:
            for packet in packets:
                self.connection.send(packet)
        except ConnectionClosed as error:
            raise Ended(str(error)) from error

    def receive(self) -> str | bytes:
        """Return the next packet."""
        try:
            return _not_the_end(self.connection.recv(timeout=PATIENCE_S))
        except ConnectionClosed as error:
            raise Ended(str(error)) from error

    def close(self) -> None:
        """Leave."""
        self.connection.close()


Client = Polling | WebSocket

CLIENTS: dict[str, Callable[[Endpoint], Client]] = {"polling": Polling, "websocket": WebSocket}


def probing(polling: Polling) -> ClientConnection:
    """Open a WebSocket for the session, without sending anything."""
    return polling.endpoint.websocket(f"EIO=4&transport=websocket&sid={polling.sid}")


def probed(polling: Polling) -> ClientConnection:
    """Open a WebSocket whose probe was answered."""
    connection = probing(polling)
    connection.send("2probe")
    assert connection.recv(timeout=PATIENCE_S) == "3probe"
    return connection


def upgraded(polling: Polling) -> ClientConnection:
    """Open a WebSocket that has taken over the session."""
    connection = probed(polling)
    connection.send("5")
    polling.wait_until(lambda state: state.get("is_upgraded"))
    return connection


def wait_for_the_end(client: Client) -> list[str | bytes]:
    """Return what a client still receives until its session ends, which must be soon."""
    received = []
    deadline_s = time.monotonic() + END_S_MAX
    with contextlib.suppress(Ended):
        while time.monotonic() < deadline_s:
            received.append(client.receive())
        raise AssertionError(f"the session did not end; it sent {received[:10]}")
    return received


def closes_cleanly(websocket: ClientConnection) -> bool:
    """Return whether the server ends this WebSocket with a close frame, after at most the close packet."""
    try:
        while (data := websocket.recv(timeout=CLOSED_S_MAX)) == "1":
            pass
    except ConnectionClosed as error:
        return error.rcvd is not None
    raise AssertionError(f"not closed, but sent {data!r}")


def _for_polling(packet: str | bytes) -> str:
    return packet if isinstance(packet, str) else "b" + base64.b64encode(packet).decode()


def _from_polling(text: str) -> str | bytes:
    return base64.b64decode(text[1:]) if text.startswith("b") else text


def _not_the_end(packet: str | bytes) -> str | bytes:
    if packet == "1":
        raise Ended("the server sent a close packet")
    return packet
