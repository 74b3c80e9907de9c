"""The transports as built-in clients speak them. A new one is a new file here and a line in `SPEECHES`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from app.core import wire
from app.experiment.speech.base import Speech, Subscription
from app.experiment.speech.clock import ClockSpeech
from app.experiment.speech.socket_io import SocketIoSpeech
from app.experiment.speech.sse import SseSpeech

__all__ = ["SPEECHES", "ClockSpeech", "SocketIoSpeech", "Speech", "SseSpeech", "Subscription"]

SPEECHES: Mapping[str, Callable[[Subscription], Speech]] = {
    wire.TRANSPORT_SSE: SseSpeech,
    wire.TRANSPORT_SOCKETIO: SocketIoSpeech,
}
