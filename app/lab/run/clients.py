"""Built-in clients: they connect, stamp arrivals, reconnect after a loss, and report when a trial is complete."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app import clock
from app.core.client import ClientProtocol, Subscription
from app.core.client.base import ENDED, TORN
from app.core.errors import MalformedFrame, MalformedPosition
from app.core.position import parse_position
from app.core.transports import PROTOCOLS
from app.lab.run.client_tls import address_of, encryption_for
from app.lab.run.links import Chunk, Link, Loop

RECONNECT_US = 200_000
"""Time that a client waits after losing its connection before it reconnects and resumes."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """One notification at one client; times on the client clock."""

    seq: int
    offset: int
    received_us: float
    """Whole microseconds; thousandths number the notifications of one read."""
    kernel_us: float | None
    """Receive stamp of the kernel; only where one read completed exactly this message."""
    replayed: bool
    """True when the notification is older than its connection."""


@dataclass(slots=True)
class Expectation:
    """The trial whose notifications clients wait for."""

    run: str
    trial: int
    count: int
    on_complete: Callable[[], None]
    waiting: int = 0
    """Count of clients that have not received everything."""

    def seq_of(self, notification: Mapping[str, Any]) -> int | None:
        """Return the number of a notification in this trial; `None` when it belongs to no trial or another."""
        data = notification.get("data")
        mark = data.get("trial") if isinstance(data, dict) else None
        if not isinstance(mark, dict) or (mark.get("run"), mark.get("trial")) != (self.run, self.trial):
            return None
        seq = mark.get("seq")
        return seq if isinstance(seq, int) else None


@dataclass(slots=True)
class ClientSpec:
    """Parameters of a client."""

    client: int
    transport: str
    url: str
    topics: Sequence[str] = ()
    fanout: str | None = None


@dataclass(slots=True)
class Connecting:
    """Times at which one connection was set up and lost, on the client clock."""

    began_us: int
    connected_us: int | None = None
    first_byte_us: int | None = None
    ready_us: int | None = None
    lost_us: int | None = None


@dataclass(slots=True, eq=False)
class Client:
    """One client, its current connection and its record of a trial."""

    spec: ClientSpec
    link: Link | None = None
    protocol: ClientProtocol | None = None
    last_event_id: str | None = None
    was_ready: bool = False
    disconnects: int = 0
    replay_until: int = -1
    """Last offset that is a replay on the current connection."""
    arrivals: list[Arrival] = field(default_factory=list)
    seen: set[int] = field(default_factory=set)
    addresses: list[tuple[str, int]] = field(default_factory=list)
    """Local addresses of its connections in this trial; more than one after a reconnect."""
    openings: list[Connecting] = field(default_factory=list)
    """Its connections since the command to connect."""
    uploads: list[tuple[int, int]] = field(default_factory=list)
    """Time and bytes of each send, since the trial was announced."""
    trouble: str | None = None
    """Reason why the last connection ended."""

    @property
    def is_ready(self) -> bool:
        """True when the server has accepted the subscription."""
        return self.protocol is not None and self.protocol.position is not None


class Clients:
    """All clients of a trial, in one event loop."""

    def __init__(self, loop: Loop, *, on_ready: Callable[[], None]) -> None:
        self.kernel_offset_us = 0.0
        """Offset from the kernel's CLOCK_REALTIME to the client clock; the owner keeps it up to date."""
        self._loop = loop
        self._on_ready = on_ready
        self._clients: list[Client] = []
        self._expectation: Expectation | None = None

    @property
    def all(self) -> Sequence[Client]:
        """The clients in the order in which they connect."""
        return self._clients

    def connect(self, specs: Sequence[ClientSpec]) -> None:
        """Connect clients in the given order; `on_ready` is called when all are ready."""
        self.disconnect()
        self._clients = [Client(spec) for spec in specs]
        for client in self._clients:
            self._open(client)

    def disconnect(self) -> None:
        """Disconnect all clients."""
        for client in self._clients:
            self._close(client)
        self._clients = []
        self._expectation = None

    def expect(self, expectation: Expectation) -> None:
        """Record arrivals of this trial from now on; `on_complete` is called when every client has all of them."""
        self._expectation = expectation
        expectation.waiting = len(self._clients)
        for client in self._clients:
            client.arrivals, client.seen, client.uploads = [], set(), []
            client.addresses = [] if client.link is None else [client.link.address]

    def _open(self, client: Client) -> None:
        if client not in self._clients:
            return  # A reconnect was scheduled before the clients were disconnected.
        spec = client.spec
        client.protocol = PROTOCOLS[spec.transport](
            Subscription(spec.url, spec.topics, client.last_event_id, spec.fanout)
        )
        client.openings.append(Connecting(clock.monotonic_us()))
        try:
            client.link = Link(
                *address_of(spec.url),
                on_open=lambda: self._begin(client),
                on_chunk=lambda chunk: self._receive(client, chunk),
                encryption=encryption_for(spec.url),
            )
        except OSError as error:
            self._lose(client, f"no connection: {error.strerror or error}")
            return
        client.addresses.append(client.link.address)
        self._loop.add(client.link)

    def _begin(self, client: Client) -> None:
        """Send the request, after TCP and TLS are established."""
        client.openings[-1].connected_us = clock.monotonic_us()
        if client.protocol is not None:
            self._send(client, client.protocol.opening())

    def _close(self, client: Client) -> None:
        if client.link is not None:
            self._loop.remove(client.link)
        client.link = client.protocol = None

    def _lose(self, client: Client, why: str) -> None:
        """Count a lost connection, and schedule a reconnect that resumes at the client's position."""
        client.trouble = why
        client.disconnects += client.is_ready
        client.openings[-1].lost_us = clock.monotonic_us()
        self._close(client)
        self._loop.call_later(RECONNECT_US, lambda: self._open(client))

    def _send(self, client: Client, data: bytes) -> None:
        if client.link is not None:
            if self._expectation is not None:
                client.uploads.append((clock.monotonic_us(), len(data)))
            self._loop.send(client.link, data)

    def _receive(self, client: Client, chunk: Chunk) -> None:
        protocol = client.protocol
        if protocol is None:
            return
        if not chunk.data:
            why = client.link.trouble if client.link is not None else None
            self._lose(client, why or TORN)
            return
        opening = client.openings[-1]
        if opening.first_byte_us is None:
            opening.first_byte_us = chunk.read_us
        was_ready = client.is_ready
        try:
            notifications = protocol.receive_data(chunk.data)
            if client.is_ready and not was_ready:
                opening.ready_us = chunk.read_us
                self._accepted(client, protocol.position or "")
            for place, notification in enumerate(notifications):
                self._record(client, notification, chunk, place, alone=len(notifications) == 1)
        except MalformedFrame as error:
            self._lose(client, str(error))
            return
        if protocol.outgoing:
            self._send(client, bytes(protocol.outgoing))
            protocol.outgoing.clear()
        if protocol.ended:
            self._lose(client, ENDED)

    def _accepted(self, client: Client, position: str) -> None:
        """Note the position at which the server has accepted the subscription."""
        try:
            offset = parse_position(position).offset
        except MalformedPosition as error:
            raise MalformedFrame(f"The server's first word has no position: {position[:80]!r}.") from error
        client.replay_until = offset if client.last_event_id is not None else -1
        if client.last_event_id is None:
            client.last_event_id = position
        first_time = not client.was_ready
        client.was_ready = True
        if first_time and all(each.was_ready for each in self._clients):
            self._on_ready()

    def _record(
        self, client: Client, notification: Mapping[str, Any], chunk: Chunk, place: int, *, alone: bool
    ) -> None:
        """Record an arrival; `place` is its index among the notifications of the read."""
        offset, position = notification.get("offset"), notification.get("id")
        if not isinstance(offset, int) or not isinstance(position, str):
            raise MalformedFrame("A notification has no offset or no id.")
        client.last_event_id = position
        expected = self._expectation
        seq = expected.seq_of(notification) if expected is not None else None
        if expected is None or seq is None:
            return
        kernel_us = None
        if alone and chunk.kernel_ns is not None:
            kernel_us = chunk.kernel_ns / 1000 + self.kernel_offset_us
        replayed = offset <= client.replay_until
        # With one stamp for a whole read, notifications that it brought in the wrong order could not be seen.
        received_us = chunk.read_us + place / 1000
        client.arrivals.append(Arrival(seq, offset, received_us, kernel_us, replayed))
        if seq in client.seen:
            return
        client.seen.add(seq)
        if len(client.seen) == expected.count:
            expected.waiting -= 1
            if expected.waiting == 0:
                expected.on_complete()
