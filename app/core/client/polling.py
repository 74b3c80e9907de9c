"""Client of `/socket.io/` by HTTP long-polling (Engine.IO 4), on one kept-alive connection.

    GET  -> 0{"sid": ...}      POST <- 40{...}      GET -> 40{...}, 42[...]      GET -> ...

Only one request is outstanding at a time, so a single connection is enough: pending packets are posted before the next
poll.
"""

from __future__ import annotations

from typing import Any

from app.core.client.base import Subscription
from app.core.client.packet_session import PacketSession
from app.core.errors import MalformedFrame
from app.core.protocol.http_response import ResponseDecoder
from app.core.protocol.packets import Packet, encode_packet, parse_packet

_SEPARATOR = "\x1e"
"""Engine.IO 4: the separator between the packets of one payload."""


class PollingProtocol(PacketSession):
    """Socket.IO 5 without an upgrade to WebSocket; the client is accepted with the answer to CONNECT."""

    is_idle = False
    """Never True: every answer must be decoded, because another request follows it."""

    def __init__(self, subscription: Subscription) -> None:
        super().__init__(subscription)
        self._response = ResponseDecoder()
        self._body = bytearray()
        self._sid: str | None = None
        self._pending: list[str] = []
        """Encoded packets for the next POST."""

    def opening(self) -> bytes:
        """Return the first poll, which opens a session."""
        return self._request("GET")

    def receive_data(self, data: bytes) -> list[dict[str, Any]]:
        """Return the notifications of a complete answer, and put the next request into `outgoing`."""
        self._body += self._response.feed(data)
        if not self._response.finished:
            return []
        head, body = self._response.head, bytes(self._body)
        self._response = ResponseDecoder()
        self._body.clear()
        if head is None or head.status != 200:
            raise MalformedFrame(f"A poll was answered with {head.status if head else 'nothing'}.")
        # The answer to a POST is "ok", which is no payload.
        text = body.decode("utf-8", errors="replace")
        packets = [] if text == "ok" else [parse_packet(each) for each in text.split(_SEPARATOR) if each]
        found = [self._receive_packet(packet) for packet in packets]
        if not self._ended:
            self._send_next_request()
        return [notification for notification in found if notification is not None]

    def _send_next_request(self) -> None:
        if self._pending:
            payload = _SEPARATOR.join(self._pending).encode()
            self._pending.clear()
            self.outgoing += self._request("POST", payload)
        else:
            self.outgoing += self._request("GET")

    def _send_packet(self, packet: Packet) -> None:
        self._pending.append(encode_packet(packet))

    def _on_open(self, content: dict[str, Any]) -> None:
        self._sid = str(content.get("sid", ""))

    def _request(self, method: str, payload: bytes = b"") -> bytes:
        query = [("EIO", "4"), ("transport", "polling"), *([("sid", self._sid)] if self._sid else [])]
        target = self._subscription.target("/socket.io/", query)
        lines = [f"{method} {target} HTTP/1.1", f"Host: {self._subscription.host}"]
        lines.append(f"User-Agent: {self._subscription.user_agent}")
        if method == "POST":
            lines += ["Content-Type: text/plain;charset=UTF-8", f"Content-Length: {len(payload)}"]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + payload
