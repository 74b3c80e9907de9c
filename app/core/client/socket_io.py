"""Client of `/socket.io/` over WebSocket."""

from __future__ import annotations

import os
from typing import Any

from app.core.client.base import Subscription
from app.core.client.packet_session import PacketSession
from app.core.errors import MalformedFrame
from app.core.protocol.http_response import ResponseDecoder
from app.core.protocol.packets import Packet, encode_packet, parse_packet
from app.core.protocol.websocket import (
    FrameDecoder,
    Message,
    Opcode,
    check_handshake,
    encode_frame,
    handshake_key,
    handshake_request,
)


class SocketIoProtocol(PacketSession):
    """Socket.IO 5 over WebSocket without polling before it; the client is accepted with the answer to CONNECT."""

    def __init__(self, subscription: Subscription) -> None:
        super().__init__(subscription)
        self._key = handshake_key(os.urandom(16))
        self._response = ResponseDecoder()
        self._frames = FrameDecoder()
        self._upgraded = False

    @property
    def is_idle(self) -> bool:
        """True if the client is accepted and the next byte begins a new message."""
        return self.position is not None and self._response.is_idle and self._frames.is_idle

    def opening(self) -> bytes:
        """Return the WebSocket handshake."""
        query = [("EIO", "4"), ("transport", "websocket")]
        return handshake_request(
            host=self._subscription.host,
            target=self._subscription.target("/socket.io/", query),
            key=self._key,
            headers={"User-Agent": self._subscription.user_agent},
        )

    def receive_data(self, data: bytes) -> list[dict[str, Any]]:
        """Return the notifications of event packets; answer pings, and request CONNECT after the open packet."""
        body = self._response.feed(data)
        if not self._upgraded:
            if self._response.head is None:
                return []
            check_handshake(self._response.head, self._key)
            self._upgraded = True
        found = (self._receive_message(message) for message in self._frames.feed(body))
        return [notification for notification in found if notification is not None]

    def _receive_message(self, message: Message) -> dict[str, Any] | None:
        if message.opcode == Opcode.TEXT:
            return self._receive_packet(parse_packet(message.text))
        if message.opcode == Opcode.PING:
            self._send_frame(Opcode.PONG, message.payload)
        elif message.opcode == Opcode.CLOSE:
            self._send_frame(Opcode.CLOSE, message.payload[:2])
            self._ended = True
        elif message.opcode == Opcode.BINARY:
            raise MalformedFrame("The server sent a binary message, which this contract has none of.")
        return None

    def _send_packet(self, packet: Packet) -> None:
        self._send_frame(Opcode.TEXT, encode_packet(packet).encode())

    def _send_frame(self, opcode: Opcode, payload: bytes) -> None:
        self.outgoing += encode_frame(opcode, payload, mask=os.urandom(4))
