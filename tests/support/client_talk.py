"""A test client for any transport: a socket, and the decoder that built-in clients use."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator
from typing import Any

from app.core.client import ClientProtocol, Subscription
from tests.support.patience import PATIENCE_S

MakeProtocol = Callable[[Subscription], ClientProtocol]


class Speaker:
    """One connection. Methods that wait for data fail with a timeout."""

    def __init__(self, port: int, protocol: ClientProtocol) -> None:
        self.protocol = protocol
        self.received: list[dict[str, Any]] = []
        """Notifications received so far."""
        self.sock = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
        self.sock.sendall(protocol.opening())

    def receive_until(self, condition: Callable[[], bool]) -> None:
        """Read until the condition holds."""
        while not condition():
            assert self.receive_some(), "the server ended the connection"

    def receive_some(self) -> bool:
        """Read once. Returns whether the connection is still open."""
        try:
            data = self.sock.recv(65_536)
        except ConnectionError:
            return False
        self.received += self.protocol.receive_data(data)
        if self.protocol.outgoing:
            self.sock.sendall(self.protocol.outgoing)
            self.protocol.outgoing.clear()
        return bool(data) and not self.protocol.ended

    def notifications(self, count: int) -> list[dict[str, Any]]:
        """Wait for the next notifications and return them."""
        self.receive_until(lambda: len(self.received) >= count)
        found, self.received = self.received[:count], self.received[count:]
        return found


@contextlib.contextmanager
def speaking(
    port: int, make: MakeProtocol, *, topics: tuple[str, ...] = (), last_event_id: str | None = None
) -> Iterator[Speaker]:
    """Connect a client that has received its position."""
    speaker = Speaker(port, make(Subscription(f"http://127.0.0.1:{port}", topics, last_event_id)))
    with contextlib.closing(speaker.sock):
        speaker.receive_until(lambda: speaker.protocol.position is not None)
        yield speaker
