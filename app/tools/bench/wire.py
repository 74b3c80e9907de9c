"""Messages of the bench between its processes: paths, bodies, and the bytes of a notification."""

from __future__ import annotations

from app import clock
from app.core.notification import Notification
from app.core.position import Position
from app.core.protocol.event_stream import encode_event
from app.core.protocol.http_response import chunk
from app.core.protocol.websocket import Opcode, encode_frame
from app.core.wire import DEFAULT_TOPIC, EVENT_NOTIFICATION, TRANSPORT_SSE

PUBLISH_PATH = "/api/notifications"
BURST_PATH = "/api/bench/burst"
"""Publishes many notifications from inside the server process; answers when each began."""
STATE_PATH = "/api/bench/state"
"""Number of connections, in total and by path."""
BLAST_PATH = "/api/bench/blast"
"""Floor only: several notifications per write, to measure what the swarm can read."""

TITLE = "Hello"
BODY = "from Siar"
"""Title and body that make about 150 bytes of JSON."""


def notification(epoch: str, offset: int) -> Notification:
    """Create a notification as a broker does."""
    now_us = clock.now_us()
    return Notification(Position(epoch, offset), DEFAULT_TOPIC, now_us, now_us, TITLE, BODY)


def frame(published: Notification, transport: str) -> bytes:
    """Return the bytes that each subscriber gets, as our server writes them."""
    if transport == TRANSPORT_SSE:
        return chunk(encode_event(event=EVENT_NOTIFICATION, data=published.json, id=published.id))
    text = f'42["{EVENT_NOTIFICATION}",{published.json}]'
    return encode_frame(Opcode.TEXT, text.encode(), mask=None)
