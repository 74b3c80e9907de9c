"""A built-in client of `GET /lines`. It would be app/core/client/lines.py."""

from __future__ import annotations

from typing import Any

from app.core.client.base import Subscription, json_object
from app.core.errors import MalformedFrame
from app.core.protocol.http_response import ResponseDecoder
from app.core.wire import EVENT_NOTIFICATION

LINE_BYTES_MAX = 262_144
"""More than twice the size of a notification at its limits."""


class LinesProtocol:
    """`app.core.client.base.ClientProtocol`. It is ready after the first line, which has the position."""

    def __init__(self, subscription: Subscription) -> None:
        self.position: str | None = None
        self.outgoing = bytearray()
        self._subscription = subscription
        self._response = ResponseDecoder()
        self._rest = b""

    @property
    def ended(self) -> bool:
        """True if the response's body has ended."""
        return self._response.finished

    @property
    def is_idle(self) -> bool:
        """True if the client is subscribed and no line is half read."""
        return self.position is not None and self._response.is_idle and not self._rest

    def opening(self) -> bytes:
        """Return the request."""
        subscription = self._subscription
        query = [("topic", topic) for topic in subscription.topics]
        if subscription.last_event_id is not None:
            query.append(("last_event_id", subscription.last_event_id))
        target = subscription.target("/lines", query)
        return (
            f"GET {target} HTTP/1.1\r\nHost: {subscription.host}\r\nUser-Agent: {subscription.user_agent}\r\n\r\n"
        ).encode("latin-1")

    def receive_data(self, data: bytes) -> list[dict[str, Any]]:
        """Return the notifications in the lines."""
        body = self._response.feed(data)
        head = self._response.head
        if head is not None and head.status != 200:
            raise MalformedFrame(f"GET /lines was answered with {head.status}.")
        *lines, self._rest = (self._rest + body).split(b"\n")
        if len(self._rest) > LINE_BYTES_MAX:
            raise MalformedFrame("A line is too long.")
        found = []
        for each in lines:
            event = json_object(each.decode("utf-8", errors="replace"))
            if event.get("event") == "position" and self.position is None:
                self.position = str(event["data"])
            elif event.get("event") == EVENT_NOTIFICATION:
                found.append(event["data"])
        return found
