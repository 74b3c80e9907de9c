"""What a client of Socket.IO says and hears in packets, whatever carries them."""

from __future__ import annotations

from typing import Any

from app.core import wire
from app.core.client.base import Subscription
from app.core.errors import MalformedFrame
from app.core.protocol.packets import Packet, PacketKind


class PacketTalk:
    """One session in the default namespace. Ready with the CONNECT answer."""

    def __init__(self, subscription: Subscription) -> None:
        self.position: str | None = None
        self.outgoing = bytearray()
        self._subscription = subscription
        self._ended = False

    @property
    def ended(self) -> bool:
        """Whether the session, its connection or the namespace was closed."""
        return self._ended

    def _say_packet(self, packet: Packet) -> None:
        """Send a packet, in the way of whoever carries it."""
        raise NotImplementedError

    def _on_open(self, told: dict[str, Any]) -> None:
        """What the open packet told; for whoever needs its session id."""

    def _hear_packet(self, packet: Packet) -> dict[str, Any] | None:
        """The notification of a packet that brings one. Raises `MalformedFrame`."""
        if packet.kind is PacketKind.EVENT:
            return _notification(packet.data)
        if packet.kind is PacketKind.PING:
            self._say_packet(Packet(PacketKind.PONG, packet.data))
        elif packet.kind is PacketKind.OPEN:
            self._on_open(packet.data)
            self._say_packet(Packet(PacketKind.CONNECT, self._auth()))
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
