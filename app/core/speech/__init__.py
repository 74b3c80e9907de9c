"""The transports as built-in clients speak them. A new one is a new file here and a line in `SPEECHES`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from app.core import wire
from app.core.speech.base import Speech, Subscription
from app.core.speech.clock import Clock, ClockSpeech, HttpClockSpeech
from app.core.speech.socket_io import SocketIoSpeech
from app.core.speech.sse import SseSpeech

__all__ = [
    "CLOCKS",
    "SPEECHES",
    "Clock",
    "ClockSpeech",
    "HttpClockSpeech",
    "SocketIoSpeech",
    "Speech",
    "SseSpeech",
    "Subscription",
]

CLOCKS: Mapping[str, Callable[[str], Clock]] = {"websocket": ClockSpeech, "http": HttpClockSpeech}
"""Ways to ask for the server's time, by the name that the run records."""

SPEECHES: Mapping[str, Callable[[Subscription], Speech]] = {
    wire.TRANSPORT_SSE: SseSpeech,
    wire.TRANSPORT_SOCKETIO: SocketIoSpeech,
}
