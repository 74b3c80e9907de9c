"""Clients for tests on HTTP and WebSocket libraries by other authors, so that these check what the server sends.

`tests.support.subscriber` has the built-in clients' protocols instead, where only events matter.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from websockets.sync.client import ClientConnection, connect

from app.core.protocol.event_stream import EventStreamDecoder
from tests.support.patience import PATIENCE_S


class SseReader:
    """An open `/events` stream."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.response = response
        self._decoder = EventStreamDecoder()
        self._waiting: list[Any] = []

    @property
    def last_event_id(self) -> str:
        """The id that a browser would send when it reconnects."""
        return self._decoder.last_event_id

    def read_some(self) -> bytes:
        """Read once and return the raw data."""
        chunk = self.response.read1(65536)
        assert chunk, "the server ended the stream"
        self._waiting.extend(self._decoder.feed(chunk))
        return chunk

    def next_event(self) -> Any:
        """Wait for the next event and return it."""
        while not self._waiting:
            self.read_some()
        return self._waiting.pop(0)

    def next_notification(self) -> dict[str, Any]:
        """Return the next event's object, which must be a notification."""
        event = self.next_event()
        assert event.type == "notification", event
        return json.loads(event.data)


@contextlib.contextmanager
def sse(
    port: int, query: str = "", headers: dict[str, str] | None = None, *, host: str = "127.0.0.1"
) -> Iterator[SseReader]:
    """Open a stream; its prelude has been read."""
    connection = http.client.HTTPConnection(host, port, timeout=PATIENCE_S)
    with contextlib.closing(connection):
        connection.request("GET", f"/events{query}", headers=headers or {})
        with connection.getresponse() as response:
            assert response.status == 200, response.read()
            reader = SseReader(response)
            while not reader.last_event_id:
                reader.read_some()
            yield reader


@dataclass(slots=True)
class SocketIoReader:
    """An open Socket.IO connection by WebSocket only."""

    websocket: ClientConnection
    connect: dict[str, Any]
    """The payload of the server's CONNECT."""

    def next_packet(self) -> str:
        """Return the next raw Engine.IO packet that is no ping."""
        while True:
            packet = self.websocket.recv(timeout=PATIENCE_S)
            assert isinstance(packet, str)
            if packet != "2":
                return packet
            self.websocket.send("3")

    def next_event(self) -> tuple[str, Any]:
        """Return the next event's name and argument."""
        packet = self.next_packet()
        assert packet.startswith("42"), packet
        name, argument = json.loads(packet[2:])
        return name, argument

    def next_notification(self) -> dict[str, Any]:
        """Return the next event's object, which must be a notification."""
        name, argument = self.next_event()
        assert name == "notification", (name, argument)
        return argument

    def next_notification_with_id(self) -> tuple[dict[str, Any], str]:
        """Return the same with the id after it, for a connection that requested recovery."""
        name, argument, position = json.loads(self.next_packet()[2:])
        assert name == "notification", (name, argument)
        return argument, position


@contextlib.contextmanager
def socketio(
    port: int, auth: Any = None, headers: dict[str, str] | None = None, *, host: str = "127.0.0.1"
) -> Iterator[SocketIoReader]:
    """Open a connected client."""
    # Without max_queue=None, a client that leaves with unread frames waits 10 s for the end of its own queue.
    url = f"ws://{host}:{port}/socket.io/?EIO=4&transport=websocket"
    # The library's own pings are off: they draw random numbers in a thread, which Hypothesis notices.
    options = {"open_timeout": PATIENCE_S, "max_queue": None, "ping_interval": None}
    with connect(url, additional_headers=headers, **options) as websocket:  # type: ignore[arg-type]
        assert str(websocket.recv(timeout=PATIENCE_S)).startswith("0{")
        websocket.send("40" + ("" if auth is None else json.dumps(auth)))
        answer = str(websocket.recv(timeout=PATIENCE_S))
        assert answer.startswith("40"), answer
        yield SocketIoReader(websocket, json.loads(answer[2:]))


def websocket_by_hand(sock: socket.socket) -> None:
    """Perform the opening handshake on a plain socket, up to the server's Engine.IO `open` packet."""
    sock.sendall(
        b"GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
        b"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    )
    read_until(sock, b"0{")


def say_no_more(sock: socket.socket) -> None:
    """Shut down our direction. The peer may have broken the connection already after invalid data."""
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_WR)


def read_until(sock: socket.socket, awaited: bytes) -> bytes:
    """Read until this has arrived, and return everything. Fails if the server closes the connection before."""
    received = b""
    while awaited not in received:
        chunk = sock.recv(65_536)
        assert chunk, f"the server ended the connection after {received[-200:]!r}"
        received += chunk
    return received
