"""Registered transports, one line each: name, constructor, view. Services, routes and the fan-out's names follow from it.

The registry stands above `transports` and `web`, because an entry names a transport and its view, and views import services.
"""

from __future__ import annotations

from app.core.wire import TRANSPORT_SOCKETIO, TRANSPORT_SSE
from app.server.transports import sse
from app.server.transports.base import Registration
from app.server.transports.socket_io import transport as socket_io
from app.server.web.publish import events

REGISTERED = (
    Registration(TRANSPORT_SSE, sse.make, events.make_blueprint),
    Registration(TRANSPORT_SOCKETIO, socket_io.make),
)
