"""The transports as every tier but the server knows them, one line each: name, title, built-in client."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from app.core.client import (
    POLLING,
    ClientProtocol,
    PollingProtocol,
    SocketIoProtocol,
    SseProtocol,
    Subscription,
)
from app.core.wire import TRANSPORT_SOCKETIO, TRANSPORT_SSE, Transport


@dataclass(frozen=True, slots=True)
class TransportEntry:
    """One transport."""

    name: Transport
    """The name on the wire."""
    title: str
    """The name for people, in reports and on the terminal."""
    client: Callable[[Subscription], ClientProtocol]


REGISTERED = (
    TransportEntry(TRANSPORT_SSE, "SSE", SseProtocol),
    TransportEntry(TRANSPORT_SOCKETIO, "Socket.IO", SocketIoProtocol),
)

PROTOCOLS: Mapping[str, Callable[[Subscription], ClientProtocol]] = {
    **{each.name: each.client for each in REGISTERED},
    POLLING: PollingProtocol,
}
"""Built-in clients by transport, and one of a transport's variant."""
