"""The transports of an application, by their classes."""

from __future__ import annotations

from app.core.wire import TRANSPORT_SOCKETIO, TRANSPORT_SSE
from app.server.factory import SiarApp
from app.server.transports.socket_io.transport import SocketIoTransport
from app.server.transports.sse import SseTransport


def sse_of(app: SiarApp) -> SseTransport:
    """Return the SSE transport of an application."""
    found = app.services.transports[TRANSPORT_SSE]
    assert isinstance(found, SseTransport)
    return found


def socketio_of(app: SiarApp) -> SocketIoTransport:
    """Return the Socket.IO transport of an application."""
    found = app.services.transports[TRANSPORT_SOCKETIO]
    assert isinstance(found, SocketIoTransport)
    return found
