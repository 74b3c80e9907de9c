"""The transports as built-in clients speak them. A new one is a new file here and a line in `SPEECHES`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from app.core import wire
from app.core.client.base import Speech, Subscription
from app.core.client.clock import Clock, ClockSpeech, HttpClockSpeech
from app.core.client.polling import PollingSpeech
from app.core.client.socket_io import SocketIoSpeech
from app.core.client.sse import SseSpeech

__all__ = [
    "CLOCKS",
    "POLLING",
    "SPEECHES",
    "Clock",
    "ClockSpeech",
    "HttpClockSpeech",
    "PollingSpeech",
    "SocketIoSpeech",
    "Speech",
    "SseSpeech",
    "Subscription",
]

CLOCKS: Mapping[str, Callable[[str], Clock]] = {"websocket": ClockSpeech, "http": HttpClockSpeech}
"""Ways to ask for the server's time, by the name that the run records."""

POLLING = "socketio-polling"
"""Socket.IO by long-polling: a way to speak it, and no transport of its own in a plan."""

SPEECHES: Mapping[str, Callable[[Subscription], Speech]] = {
    wire.TRANSPORT_SSE: SseSpeech,
    wire.TRANSPORT_SOCKETIO: SocketIoSpeech,
    POLLING: PollingSpeech,
}
