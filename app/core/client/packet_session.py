"""Packet handling of a Socket.IO client, independent of the carrier (WebSocket or long-polling)."""

from __future__ import annotations

from typing import Any

from app.core import wire
from app.core.client.base import Subscription
from app.core.errors import MalformedFrame
from app.core.protocol.packets import Packet, PacketKind


class PacketSession:
    """One session in the default namespace; the client is accepted with the answer to CONNECT."""

    def __init__(self, subscription: Subscription) -> None:
        self.position: str | None = None
        self.outgoing = bytearray()
        self._subscription = subscription
        self._ended = False

    @property
    def ended(self) -> bool:
        """True if the session, its connection or the namespace was closed."""
        return self._ended

    def _send_packet(self, packet: Packet) -> None:
        """Send a packet over this class's carrier."""
        raise NotImplementedError

    def _on_open(self, content: dict[str, Any]) -> None:
        """Receive the content of the open packet; overridden by carriers that need its session id."""

    def _receive_packet(self, packet: Packet) -> dict[str, Any] | None:
        """Handle a packet; return its notification if it carries one. Raises `MalformedFrame`."""
        if packet.kind is PacketKind.EVENT:
            return _notification(packet.data)
        if packet.kind is PacketKind.PING:
            self._send_packet(Packet(PacketKind.PONG, packet.data))
        elif packet.kind is PacketKind.OPEN:
            self._on_open(packet.data)
            self._send_packet(Packet(PacketKind.CONNECT, self._auth()))
        elif packet.kind is PacketKind.CONNECT:
            self.position = str((packet.data or {}).get("position") or "")
        elif packet.kind is PacketKind.CONNECT_ERROR:
            reason = (packet.data or {}).get("message", "no reason given")
            raise MalformedFrame(f"Socket.IO refused the connection: {str(reason)[:200]}")
        elif packet.kind in (PacketKind.CLOSE, PacketKind.DISCONNECT):
            self._ended = True
        return None

    def _auth(self) -> dict[str, Any]:
        auth: dict[str, Any] = {}
        if self._subscription.topics:
            auth["topics"] = list(self._subscription.topics)
        if self._subscription.last_event_id is not None:
            auth["last_event_id"] = self._subscription.last_event_id
        return auth


def _notification(data: list[Any]) -> dict[str, Any] | None:
    if data[0] != wire.EVENT_NOTIFICATION:
        return None
    if len(data) < 2 or not isinstance(data[1], dict):
        raise MalformedFrame("A notification of Socket.IO is no JSON object.")
    return data[1]
