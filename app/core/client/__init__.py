"""The transports as built-in clients speak them. A new one is a new file here and a line in `PROTOCOLS`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from app.core import wire
from app.core.client.base import ClientProtocol, Subscription
from app.core.client.clock import Clock, ClockProtocol, HttpClockProtocol
from app.core.client.polling import PollingProtocol
from app.core.client.socket_io import SocketIoProtocol
from app.core.client.sse import SseProtocol

__all__ = [
    "CLOCKS",
    "POLLING",
    "PROTOCOLS",
    "ClientProtocol",
    "Clock",
    "ClockProtocol",
    "HttpClockProtocol",
    "PollingProtocol",
    "SocketIoProtocol",
    "SseProtocol",
    "Subscription",
]

CLOCKS: Mapping[str, Callable[[str], Clock]] = {"websocket": ClockProtocol, "http": HttpClockProtocol}
"""Ways to ask for the server's time, by the name that the run records."""

POLLING = "socketio-polling"
"""Socket.IO by long-polling: a way to speak it, and no transport of its own in a plan."""

PROTOCOLS: Mapping[str, Callable[[Subscription], ClientProtocol]] = {
    wire.TRANSPORT_SSE: SseProtocol,
    wire.TRANSPORT_SOCKETIO: SocketIoProtocol,
    POLLING: PollingProtocol,
}
