"""Client of `GET /events` (Server-Sent Events)."""

from __future__ import annotations

from typing import Any

from app.core import wire
from app.core.client.base import Subscription, json_object
from app.core.errors import MalformedFrame
from app.core.protocol.event_stream import CONTENT_TYPE, EventStreamDecoder, ServerEvent
from app.core.protocol.http_response import ResponseDecoder


class SseProtocol:
    """Client side of `GET /events`; the client is accepted with the stream's first block, which carries the position."""

    def __init__(self, subscription: Subscription) -> None:
        self.position: str | None = None
        self.outgoing = bytearray()
        self._subscription = subscription
        self._response = ResponseDecoder()
        self._stream = EventStreamDecoder()

    @property
    def ended(self) -> bool:
        """True if the response's body is complete."""
        return self._response.finished

    @property
    def is_idle(self) -> bool:
        """True if the client is accepted and the next byte begins a new event."""
        return self.position is not None and self._response.is_idle and self._stream.is_idle

    def opening(self) -> bytes:
        """Return the request."""
        subscription = self._subscription
        target = subscription.target("/events", [("topic", topic) for topic in subscription.topics])
        headers = {
            "Host": subscription.host,
            "User-Agent": subscription.user_agent,
            "Accept": CONTENT_TYPE,
            "Cache-Control": "no-store",
        }
        if subscription.last_event_id is not None:
            headers["Last-Event-ID"] = subscription.last_event_id
        lines = [f"GET {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")

    def receive_data(self, data: bytes) -> list[dict[str, Any]]:
        """Return the notifications of the events that `data` completes."""
        body = self._response.feed(data)
        head = self._response.head
        if head is None:
            return []
        content_type = head.headers.get("content-type", "").partition(";")[0].strip().lower()
        if head.status != 200 or content_type != CONTENT_TYPE:
            raise MalformedFrame(f"GET /events was answered with {head.status}, {content_type or 'no type'}.")
        events = self._stream.feed(body)
        if self.position is None and self._stream.last_event_id:
            # The header is preferred: on a resume the ids start before the replay, and are past it if one read has it all.
            self.position = head.headers.get("siar-position") or self._stream.last_event_id
        found = (self._receive_event(event) for event in events)
        return [notification for notification in found if notification is not None]

    def _receive_event(self, event: ServerEvent) -> dict[str, Any] | None:
        """Return the event's notification if it carries one. Raises `MalformedFrame`."""
        return json_object(event.data) if event.type == wire.EVENT_NOTIFICATION else None
