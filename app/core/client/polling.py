"""A client of `/socket.io/` by HTTP long-polling (Engine.IO 4), on one connection that is kept.

    GET  -> 0{"sid": ...}      POST <- 40{...}      GET -> 40{...}, 42[...]      GET -> ...

One request is under way at a time, so that a single connection will do: what is to be said goes before the next poll.
"""

from __future__ import annotations

from typing import Any

from app.core.client.base import Subscription
from app.core.client.packet_talk import PacketTalk
from app.core.errors import MalformedFrame
from app.core.protocol.http_response import ResponseDecoder
from app.core.protocol.packets import Packet, encode_packet, parse_packet

_SEPARATOR = "\x1e"
"""Engine.IO 4: between the packets of one payload."""


class PollingProtocol(PacketTalk):
    """Socket.IO 5 that never becomes a WebSocket. Ready with the CONNECT answer."""

    is_idle = False
    """Each answer is followed by another request: nothing may be passed over."""

    def __init__(self, subscription: Subscription) -> None:
        super().__init__(subscription)
        self._response = ResponseDecoder()
        self._body = bytearray()
        self._sid: str | None = None
        self._to_say: list[str] = []

    def opening(self) -> bytes:
        """The first poll, which opens a session."""
        return self._request("GET")

    def receive_data(self, data: bytes) -> list[dict[str, Any]]:
        """Notifications out of the packets of an answer; the next request then is in `outgoing`."""
        self._body += self._response.feed(data)
        if not self._response.finished:
            return []
        head, body = self._response.head, bytes(self._body)
        self._response = ResponseDecoder()
        self._body.clear()
        if head is None or head.status != 200:
            raise MalformedFrame(f"A poll was answered with {head.status if head else 'nothing'}.")
        # What a POST is answered with is no payload.
        text = body.decode("utf-8", errors="replace")
        packets = [] if text == "ok" else [parse_packet(each) for each in text.split(_SEPARATOR) if each]
        heard = [self._hear_packet(packet) for packet in packets]
        if not self._ended:
            self._ask()
        return [notification for notification in heard if notification is not None]

    def _ask(self) -> None:
        if self._to_say:
            payload = _SEPARATOR.join(self._to_say).encode()
            self._to_say.clear()
            self.outgoing += self._request("POST", payload)
        else:
            self.outgoing += self._request("GET")

    def _say_packet(self, packet: Packet) -> None:
        self._to_say.append(encode_packet(packet))

    def _on_open(self, told: dict[str, Any]) -> None:
        self._sid = str(told.get("sid", ""))

    def _request(self, method: str, payload: bytes = b"") -> bytes:
        query = [("EIO", "4"), ("transport", "polling"), *([("sid", self._sid)] if self._sid else [])]
        target = self._subscription.target("/socket.io/", query)
        lines = [f"{method} {target} HTTP/1.1", f"Host: {self._subscription.host}"]
        lines.append(f"User-Agent: {self._subscription.user_agent}")
        if method == "POST":
            lines += ["Content-Type: text/plain;charset=UTF-8", f"Content-Length: {len(payload)}"]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + payload
