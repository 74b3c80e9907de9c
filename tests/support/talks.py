"""A subscriber's side of each transport without I/O, and the record of what it received.

A `Ledger` is a client's record over all of its connections; a talk is the protocol of one connection.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import Any, Protocol

from app.core.protocol.event_stream import EventStreamDecoder
from app.core.protocol.http_response import ResponseDecoder
from app.core.protocol.websocket import FrameDecoder, Opcode, encode_frame, handshake_key, handshake_request


class Refused(Exception):
    """The server did not accept a subscriber."""


@dataclass(slots=True)
class Ledger:
    """Everything that one subscriber received, in order."""

    position: str | None = None
    """Position from which it resumes."""
    first: int | None = None
    """Offset at which it subscribed."""
    ranges: list[tuple[int, int]] = field(default_factory=list)
    """Ranges of offsets: a notification's offset twice, or the ends of a gap."""
    gap_count: int = 0

    def note_position(self, position: str) -> None:
        """Record a position announced by the server."""
        if self.first is None:
            self.first = offset_of(position)
        self.position = position

    def note(self, kind: str, argument: dict[str, Any]) -> None:
        """Record a notification or a gap."""
        if kind == "notification":
            self.ranges.append((argument["offset"], argument["offset"]))
        else:
            assert kind == "gap", kind
            self.gap_count += 1
            self.ranges.append((argument["from"], argument["to"]))

    @property
    def through(self) -> int:
        """The last offset that is accounted for."""
        return self.ranges[-1][1] if self.ranges else (self.first or 0)

    def faults(self) -> list[str]:
        """Return where the offsets are not consecutive: holes, duplicates, disorder."""
        faults, next_offset = [], (self.first or 0) + 1
        for low, high in self.ranges:
            if low != next_offset or high < low:
                faults.append(f"{low}-{high} where {next_offset} was next")
            next_offset = high + 1
        return faults


def offset_of(position: str) -> int:
    return int(position.rpartition(".")[2])


class Talk(Protocol):
    """Protocol of one connection. `receive_data` raises `Refused`, or `MalformedFrame` for invalid data."""

    outgoing: bytes

    def receive_data(self, data: bytes) -> bool:
        """Process data. Returns whether the connection is still open."""
        ...


class SseTalk:
    """`GET /events`; the position is kept as a browser keeps it."""

    def __init__(self, host: str, ledger: Ledger) -> None:
        resume = f"Last-Event-ID: {ledger.position}\r\n" if ledger.position else ""
        self.outgoing = f"GET /events HTTP/1.1\r\nHost: {host}\r\n{resume}\r\n".encode()
        self._ledger = ledger
        self._response = ResponseDecoder()
        self._events = EventStreamDecoder()

    @property
    def retry_ms(self) -> int | None:
        """The reconnection delay that the server requests."""
        return self._events.retry_ms

    def receive_data(self, data: bytes) -> bool:
        body = self._response.feed(data)
        head = self._response.head
        if head is not None and head.status != 200:
            raise Refused(f"SSE was answered with {head.status}.")
        for event in self._events.feed(body):
            self._ledger.note(event.type, json.loads(event.data))
            self._ledger.position = event.last_event_id
        if self._events.last_event_id:
            self._ledger.note_position(self._events.last_event_id)
        return not self._response.finished


class SocketIoTalk:
    """Socket.IO on a WebSocket from the first byte."""

    def __init__(self, host: str, ledger: Ledger) -> None:
        self.outgoing = handshake_request(
            host=host,
            target="/socket.io/?EIO=4&transport=websocket",
            key=handshake_key(os.urandom(16)),
            headers={},
        )
        self._ledger = ledger
        self._response = ResponseDecoder()
        self._frames = FrameDecoder()

    def receive_data(self, data: bytes) -> bool:
        body = self._response.feed(data)
        head = self._response.head
        if head is not None and head.status != 101:
            raise Refused(f"Socket.IO was answered with {head.status}.")
        for message in self._frames.feed(body):
            if message.opcode is Opcode.CLOSE or not self._receive_packet(message.payload):
                return False
        return True

    def _receive_packet(self, packet: bytes) -> bool:
        if packet.startswith(b"42"):
            kind, argument = json.loads(packet[2:])
            self._ledger.note(kind, argument)
            self._ledger.position = argument["id"]
        elif packet == b"2":
            self._send(b"3")
        elif packet.startswith(b"0"):
            auth = {"last_event_id": self._ledger.position} if self._ledger.position else {}
            self._send(b"40" + json.dumps(auth).encode())
        elif packet.startswith(b"40"):
            if self._ledger.position is None:
                self._ledger.note_position(json.loads(packet[2:])["position"])
        elif packet.startswith(b"44"):
            raise Refused(packet.decode())
        return packet not in (b"1", b"41")

    def _send(self, packet: bytes) -> None:
        self.outgoing += encode_frame(Opcode.TEXT, packet, mask=os.urandom(4))


TALKS: dict[str, type[SseTalk] | type[SocketIoTalk]] = {"sse": SseTalk, "socketio": SocketIoTalk}
