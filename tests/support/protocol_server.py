"""The protocol app under each server, and raw clients for it: one interface for polling and for WebSocket."""

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
"""What the server ends at once is ended long before; an upgrade that it had not ended would be given up a little later."""

END_S_MAX = 20.0
"""What the server ends at once is ended long before; by the heartbeat a ping would come first, after 25 s."""

WAYS = (
    ("eventlet", "direct"),
    pytest.param(("eventlet", "stock"), marks=pytest.mark.slow),
    pytest.param(("gevent", "direct"), marks=pytest.mark.slow),
    pytest.param(("threads", "stock"), marks=pytest.mark.slow),
)
"""(kind of threads, fan-out) that every case is tried on."""

Answer = tuple[int, str]


class Ended(Exception):
    """The session is over, as its client sees it."""


@contextlib.contextmanager
def protocol_server(tmp_path: Path, way: tuple[str, str], **options: Any) -> Iterator[RunningServer]:
    """The app of protocol_app.py with `options`."""
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
    """Where an Engine.IO server answers."""

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
        """One HTTP request on a connection of its own."""
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
        """A WebSocket whose handshake has been answered."""
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
        """How the session is (echo server only)."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        connection.request("GET", f"/sessions/{sid}")
        told: dict[str, Any] = json.loads(connection.getresponse().read())
        connection.close()
        return told


class Polling:
    """A session by HTTP long-polling."""

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
        """One poll, waited for."""
        return self.endpoint.request(self.query)

    def post(self, body: str | bytes) -> Answer:
        """One POST."""
        return self.endpoint.request(self.query, body)

    def pending_get(self) -> Future[Answer]:
        """A poll that the server is known to have taken."""
        future: Future[Answer] = Future()

        def poll() -> None:
            try:
                future.set_result(self.get())
            except BaseException as error:  # noqa: BLE001 - handed to who waits
                future.set_exception(error)

        threading.Thread(target=poll, daemon=True).start()
        self.wait_until(lambda state: state.get("is_polled") or future.done())
        return future

    def wait_until(
        self, condition: Callable[[dict[str, Any]], Any], within_s: float = PATIENCE_S
    ) -> dict[str, Any]:
        """Ask for the session's state until it is as wanted."""
        deadline_s = time.monotonic() + within_s
        while not condition(state := self.endpoint.state(self.sid)):
            assert time.monotonic() < deadline_s, state
            time.sleep(0.005)
        return state

    def send(self, *packets: str | bytes) -> None:
        """Packets in one POST, which must be taken."""
        status, body = self.post(SEPARATOR.join(map(_for_polling, packets)))
        if (status, body) != (200, "ok"):
            raise Ended(body)

    def receive(self) -> str | bytes:
        """The next packet."""
        while not self._received:
            status, body = self.get()
            if status != 200:
                raise Ended(body)
            self._received.extend(map(_from_polling, body.split(SEPARATOR)))
        return _not_the_end(self._received.popleft())

    def close(self) -> None:
        """Leave, if it has not ended."""
        with contextlib.suppress(OSError, http.client.HTTPException):
            self.post("1")


class WebSocket:
    """A session by WebSocket alone."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.connection = endpoint.websocket()
        body = self.connection.recv(timeout=PATIENCE_S)
        assert isinstance(body, str)
        assert body[0] == "0", body
        self.opened: dict[str, Any] = json.loads(body[1:])
        self.sid: str = self.opened["sid"]

    def send(self, *packets: str | bytes) -> None:
        """Packets, each in a message."""
        try:
            for packet in packets:
                self.connection.send(packet)
        except ConnectionClosed as error:
            raise Ended(str(error)) from error

    def receive(self) -> str | bytes:
        """The next packet."""
        try:
            return _not_the_end(self.connection.recv(timeout=PATIENCE_S))
        except ConnectionClosed as error:
            raise Ended(str(error)) from error

    def close(self) -> None:
        """Leave."""
        self.connection.close()


Client = Polling | WebSocket

CLIENTS: dict[str, Callable[[Endpoint], Client]] = {"polling": Polling, "websocket": WebSocket}


def wait_for_the_end(client: Client) -> list[str | bytes]:
    """What a client still receives until its session ends, which must be soon."""
    received = []
    deadline_s = time.monotonic() + END_S_MAX
    with contextlib.suppress(Ended):
        while time.monotonic() < deadline_s:
            received.append(client.receive())
        raise AssertionError(f"the session did not end; it sent {received[:10]}")
    return received


def closes_cleanly(websocket: ClientConnection) -> bool:
    """Whether the server ends this WebSocket with a close frame, after at most the close packet."""
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
