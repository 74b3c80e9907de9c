"""Raw subscribers: the built-in clients' protocols with all events, a blocking connection, and a record to check.

`tests.support.swarm` has many of them on one event loop. `tests.support.streams` has clients by other authors.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from app.core import wire
from app.core.client import ClientProtocol, SocketIoProtocol, SseProtocol, Subscription
from app.core.client.base import json_object
from app.core.position import parse_position
from app.core.protocol.event_stream import ServerEvent
from app.core.protocol.packets import Packet, PacketKind
from tests.support.patience import PATIENCE_S


class EventProtocol(ClientProtocol, Protocol):
    """A built-in client's protocol that also keeps events that are no notifications."""

    events: list[tuple[str, dict[str, Any]]]
    """Name and argument of each event, in order; the caller clears them after taking them."""

    @property
    def last_event_id(self) -> str | None:
        """The position from which a real client would resume now."""
        ...


class SseEvents(SseProtocol):
    """`GET /events`."""

    def __init__(self, subscription: Subscription) -> None:
        super().__init__(subscription)
        self.events: list[tuple[str, dict[str, Any]]] = []

    @property
    def last_event_id(self) -> str | None:
        """The id that a browser would send."""
        return self._stream.last_event_id or None

    @property
    def retry_ms(self) -> int | None:
        """The reconnection delay that the server requests."""
        return self._stream.retry_ms

    def _receive_event(self, event: ServerEvent) -> dict[str, Any] | None:
        argument = json_object(event.data)
        self.events.append((event.type, argument))
        return argument if event.type == wire.EVENT_NOTIFICATION else None


class SocketIoEvents(SocketIoProtocol):
    """Socket.IO on a WebSocket from the first byte."""

    def __init__(self, subscription: Subscription) -> None:
        super().__init__(subscription)
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.last_event_id = subscription.last_event_id

    def _receive_packet(self, packet: Packet) -> dict[str, Any] | None:
        notification = super()._receive_packet(packet)
        if packet.kind is PacketKind.EVENT:
            name, argument = packet.data
            self.events.append((name, argument))
            self.last_event_id = argument.get("id", self.last_event_id)
        self.last_event_id = self.last_event_id or self.position
        return notification


EVENT_PROTOCOLS: Mapping[str, Callable[[Subscription], EventProtocol]] = {
    wire.TRANSPORT_SSE: SseEvents,
    wire.TRANSPORT_SOCKETIO: SocketIoEvents,
}


P = TypeVar("P", bound=ClientProtocol)


class Subscriber(Generic[P]):
    """One connection on a blocking socket. Methods that wait for data fail with a timeout."""

    def __init__(self, sock: socket.socket, protocol: P) -> None:
        self.protocol = protocol
        self.received: list[dict[str, Any]] = []
        """Notifications received so far."""
        self._sock = sock
        sock.sendall(protocol.opening())

    def receive_until(self, condition: Callable[[], bool]) -> None:
        """Read until the condition holds."""
        while not condition():
            assert self.receive_some(), "the server ended the connection"

    def receive_some(self) -> bool:
        """Read once. Returns whether the connection is still open."""
        try:
            data = self._sock.recv(65_536)
        except ConnectionError:
            return False
        self.received += self.protocol.receive_data(data)
        if self.protocol.outgoing:
            self._sock.sendall(self.protocol.outgoing)
            self.protocol.outgoing.clear()
        return bool(data) and not self.protocol.ended

    def notifications(self, count: int) -> list[dict[str, Any]]:
        """Wait for the next notifications and return them."""
        self.receive_until(lambda: len(self.received) >= count)
        found, self.received = self.received[:count], self.received[count:]
        return found


@contextlib.contextmanager
def subscribed(
    port: int,
    make: Callable[[Subscription], P],
    *,
    host: str = "127.0.0.1",
    topics: tuple[str, ...] = (),
    last_event_id: str | None = None,
) -> Iterator[Subscriber[P]]:
    """Connect a subscriber that has received its position."""
    protocol = make(Subscription(f"http://{host}:{port}", topics, last_event_id))
    with socket.create_connection((host, port), timeout=PATIENCE_S) as sock:
        subscriber = Subscriber(sock, protocol)
        subscriber.receive_until(lambda: protocol.position is not None)
        yield subscriber


@dataclass(slots=True)
class Ledger:
    """Everything that one subscriber received over all of its connections, in order."""

    position: str | None = None
    """Position from which it resumes."""
    first: int | None = None
    """Offset at which it subscribed."""
    ranges: list[tuple[int, int]] = field(default_factory=list)
    """Ranges of offsets: a notification's offset twice, or the ends of a gap."""
    gap_count: int = 0

    def take(self, protocol: EventProtocol) -> None:
        """Record what a connection has received since the last call."""
        if self.first is None and protocol.position is not None:
            self.note_position(protocol.position)
        for kind, argument in protocol.events:
            self.note(kind, argument)
        protocol.events.clear()
        self.position = protocol.last_event_id or self.position

    def note_position(self, position: str) -> None:
        """Record where it subscribed."""
        self.first = parse_position(position).offset
        self.position = position

    def note(self, kind: str, argument: dict[str, Any]) -> None:
        """Record a notification or a gap."""
        if kind == "notification":
            self.ranges.append((argument["offset"], argument["offset"]))
        else:
            assert kind == "gap", kind
            self.gap_count += 1
            self.ranges.append((argument["from"], argument["to"]))

    @property
    def through(self) -> int:
        """The last offset that is accounted for."""
        return self.ranges[-1][1] if self.ranges else (self.first or 0)

    def faults(self) -> list[str]:
        """Return where the offsets are not consecutive: holes, duplicates, disorder."""
        faults, next_offset = [], (self.first or 0) + 1
        for low, high in self.ranges:
            if low != next_offset or high < low:
                faults.append(f"{low}-{high} where {next_offset} was next")
            next_offset = high + 1
        return faults
