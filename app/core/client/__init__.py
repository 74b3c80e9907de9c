"""Client side of each transport, for built-in clients: one file each."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from app.core.client.base import ClientProtocol, Subscription
from app.core.client.clock import Clock, ClockProtocol, HttpClockProtocol
from app.core.client.polling import PollingProtocol
from app.core.client.socket_io import SocketIoProtocol
from app.core.client.sse import SseProtocol

__all__ = [
    "CLOCKS",
    "POLLING",
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
"""Clock clients by the name that a run records."""

POLLING = "socketio-polling"
"""Name of Socket.IO by long-polling. It is a variant of Socket.IO; a plan cannot name it as a transport."""
