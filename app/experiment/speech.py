"""What a built-in client says and hears on each transport, without any input or output of its own.

    connect -> opening() -> bytes out       bytes in -> hear() -> notifications, and bytes out in `outgoing`

Both speak the public endpoints like anyone else. A new transport is a new class here and a line in `SPEECHES`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import urlencode, urlsplit

from app.core import wire
from app.core.errors import MalformedFrame
from app.core.event_stream import CONTENT_TYPE, EventStreamDecoder
from app.core.frames import (
    FrameDecoder,
    Message,
    Opcode,
    check_handshake,
    encode_frame,
    handshake_key,
    handshake_request,
)
from app.core.http_response import ResponseDecoder
from app.core.packets import Packet, PacketKind, encode_packet, parse_packet
from app.experiment.api import USER_AGENT


@dataclass(frozen=True, slots=True)
class Subscription:
    """What a client asks for."""

    url: str
    """Base URL of the server, or of a proxy before it."""
    topics: Sequence[str] = ()
    """Empty: all."""
    last_event_id: str | None = None
    """Where to resume; `None`: from now on."""

    @property
    def host(self) -> str:
        """The `Host` header."""
        return urlsplit(self.url).netloc

    def target(self, path: str, query: Sequence[tuple[str, str]]) -> str:
        """A request's target below the base URL."""
        text = urlencode(query)
        return urlsplit(self.url).path.rstrip("/") + path + (f"?{text}" if text else "")


class Speech(Protocol):
    """One connection's side of a conversation. `hear` raises `MalformedFrame` when the peer breaks the protocol."""

    position: str | None
    """The server's position when it let this client in; `None` until then."""
    outgoing: bytearray
    """What is to be sent; whoever sends it takes it out."""

    @property
    def ended(self) -> bool:
        """Whether the peer said that nothing more will come."""
        ...

    def opening(self) -> bytes:
        """The first bytes to send."""
        ...

    def hear(self, data: bytes) -> list[dict[str, Any]]:
        """The notifications that `data` completes, as JSON objects."""
        ...


class SseSpeech:
    """`GET /events`. Ready with the first block of the stream, which carries the position."""

    def __init__(self, subscription: Subscription) -> None:
        self.position: str | None = None
        self.outgoing = bytearray()
        self._subscription = subscription
        self._response = ResponseDecoder()
        self._stream = EventStreamDecoder()

    @property
    def ended(self) -> bool:
        """Whether the body of the response is over."""
        return self._response.finished

    def opening(self) -> bytes:
        """The request."""
        subscription = self._subscription
        target = subscription.target("/events", [("topic", topic) for topic in subscription.topics])
        headers = {
            "Host": subscription.host,
            "User-Agent": USER_AGENT,
            "Accept": CONTENT_TYPE,
            "Cache-Control": "no-store",
        }
        if subscription.last_event_id is not None:
            headers["Last-Event-ID"] = subscription.last_event_id
        lines = [f"GET {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")

    def hear(self, data: bytes) -> list[dict[str, Any]]:
        """Notifications out of events."""
        body = self._response.feed(data)
        head = self._response.head
        if head is None:
            return []
        content_type = head.headers.get("content-type", "").partition(";")[0].strip().lower()
        if head.status != 200 or content_type != CONTENT_TYPE:
            raise MalformedFrame(f"GET /events was answered with {head.status}, {content_type or 'no type'}.")
        events = self._stream.feed(body)
        if self.position is None and self._stream.last_event_id:
            self.position = self._stream.last_event_id
        return [_json_object(event.data) for event in events if event.type == wire.EVENT_NOTIFICATION]


class SocketIoSpeech:
    """Socket.IO 5 over a WebSocket from the first byte: no polling before it. Ready with the CONNECT answer."""

    def __init__(self, subscription: Subscription) -> None:
        self.position: str | None = None
        self.outgoing = bytearray()
        self._subscription = subscription
        self._key = handshake_key(os.urandom(16))
        self._response = ResponseDecoder()
        self._frames = FrameDecoder()
        self._upgraded = False
        self._ended = False

    @property
    def ended(self) -> bool:
        """Whether the connection or the namespace was closed."""
        return self._ended

    def opening(self) -> bytes:
        """The WebSocket handshake."""
        query = [("EIO", "4"), ("transport", "websocket")]
        return handshake_request(
            host=self._subscription.host,
            target=self._subscription.target("/socket.io/", query),
            key=self._key,
            headers={"User-Agent": USER_AGENT},
        )

    def hear(self, data: bytes) -> list[dict[str, Any]]:
        """Notifications out of event packets; pings are answered, CONNECT is asked for."""
        body = self._response.feed(data)
        if not self._upgraded:
            if self._response.head is None:
                return []
            check_handshake(self._response.head, self._key)
            self._upgraded = True
        heard = (self._hear_message(message) for message in self._frames.feed(body))
        return [notification for notification in heard if notification is not None]

    def _hear_message(self, message: Message) -> dict[str, Any] | None:
        if message.opcode == Opcode.TEXT:
            return self._hear_packet(parse_packet(message.text))
        if message.opcode == Opcode.PING:
            self._say(Opcode.PONG, message.payload)
        elif message.opcode == Opcode.CLOSE:
            self._say(Opcode.CLOSE, message.payload[:2])
            self._ended = True
        elif message.opcode == Opcode.BINARY:
            raise MalformedFrame("The server sent a binary message, which this contract has none of.")
        return None

    def _hear_packet(self, packet: Packet) -> dict[str, Any] | None:
        if packet.kind is PacketKind.EVENT:
            return self._hear_event(packet.data)
        if packet.kind is PacketKind.PING:
            self._say_packet(Packet(PacketKind.PONG, packet.data))
        elif packet.kind is PacketKind.OPEN:
            auth: dict[str, Any] = {}
            if self._subscription.topics:
                auth["topics"] = list(self._subscription.topics)
            if self._subscription.last_event_id is not None:
                auth["last_event_id"] = self._subscription.last_event_id
            self._say_packet(Packet(PacketKind.CONNECT, auth))
        elif packet.kind is PacketKind.CONNECT:
            self.position = str((packet.data or {}).get("position") or "")
        elif packet.kind is PacketKind.CONNECT_ERROR:
            reason = (packet.data or {}).get("message", "no reason given")
            raise MalformedFrame(f"Socket.IO refused the connection: {str(reason)[:200]}")
        elif packet.kind in (PacketKind.CLOSE, PacketKind.DISCONNECT):
            self._ended = True
        return None

    def _hear_event(self, data: list[Any]) -> dict[str, Any] | None:
        if data[0] != wire.EVENT_NOTIFICATION:
            return None
        if len(data) < 2 or not isinstance(data[1], dict):
            raise MalformedFrame("A notification of Socket.IO is no JSON object.")
        return data[1]

    def _say_packet(self, packet: Packet) -> None:
        self._say(Opcode.TEXT, encode_packet(packet).encode())

    def _say(self, opcode: Opcode, payload: bytes) -> None:
        self.outgoing += encode_frame(opcode, payload, mask=os.urandom(4))


class ClockSpeech:
    """The clock channel: a WebSocket that answers `{"probe": n}` with two stamps of the server."""

    def __init__(self, url: str) -> None:
        self.ready = False
        self.outgoing = bytearray()
        self._url = url
        self._key = handshake_key(os.urandom(16))
        self._response = ResponseDecoder()
        self._frames = FrameDecoder()

    def opening(self) -> bytes:
        """The WebSocket handshake."""
        host = urlsplit(self._url).netloc
        return handshake_request(host=host, target="/", key=self._key, headers={"User-Agent": USER_AGENT})

    def question(self, number: int) -> bytes:
        """A probe, to be sent at once: its stamp is taken just before."""
        return encode_frame(Opcode.TEXT, b'{"probe":%d}' % number, mask=os.urandom(4))

    def hear(self, data: bytes) -> list[dict[str, Any]]:
        """Answers: `probe`, `received_us`, `sent_us`, `timebase`."""
        body = self._response.feed(data)
        if not self.ready:
            if self._response.head is None:
                return []
            check_handshake(self._response.head, self._key)
            self.ready = True
        answers = []
        for message in self._frames.feed(body):
            if message.opcode == Opcode.TEXT:
                answers.append(_json_object(message.text))
            elif message.opcode == Opcode.PING:
                self.outgoing += encode_frame(Opcode.PONG, message.payload, mask=os.urandom(4))
            elif message.opcode == Opcode.CLOSE:
                raise MalformedFrame("The clock channel was closed.")
        return answers


SPEECHES: Mapping[str, Callable[[Subscription], Speech]] = {
    wire.TRANSPORT_SSE: SseSpeech,
    wire.TRANSPORT_SOCKETIO: SocketIoSpeech,
}


def _json_object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise MalformedFrame("What should be a JSON object is no JSON.") from error
    if not isinstance(value, dict):
        raise MalformedFrame("What should be a JSON object is another kind of JSON.")
    return value
