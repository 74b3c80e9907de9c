"""WebSocket frames as a client sees them: masked out, incremental in (RFC 6455).

bytes in any pieces -> FrameDecoder.feed() -> messages, control frames between them in their order
"""

from __future__ import annotations

import base64
import hashlib
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

from app.core.errors import MalformedFrame
from app.core.http_response import ResponseHead

MESSAGE_BYTES_MAX = 262_144
"""What a decoder holds of one message; a notification at its limits has less than half of it."""

CONTROL_BYTES_MAX = 125
"""Section 5.5: "All control frames MUST have a payload length of 125 bytes or less"."""

_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class Opcode(IntEnum):
    """Section 5.2; others are reserved."""

    CONTINUATION = 0
    TEXT = 1
    BINARY = 2
    CLOSE = 8
    PING = 9
    PONG = 10


@dataclass(frozen=True, slots=True)
class Message:
    """A whole message, or a control frame."""

    opcode: Opcode
    payload: bytes
    """Of a text message: valid UTF-8. Of a close frame: code and reason, checked."""

    @property
    def text(self) -> str:
        """The payload as text."""
        return self.payload.decode()


def encode_frame(opcode: Opcode, payload: bytes, *, mask: bytes | None) -> bytes:
    """One whole frame. A client must give four random bytes as `mask`; a server must give `None`."""
    bit = 0x80 if mask is not None else 0
    length = len(payload)
    if length <= 125:
        head = struct.pack("!BB", 0x80 | opcode, bit | length)
    elif length <= 0xFFFF:
        head = struct.pack("!BBH", 0x80 | opcode, bit | 126, length)
    else:
        head = struct.pack("!BBQ", 0x80 | opcode, bit | 127, length)
    return head + payload if mask is None else head + mask + masked(payload, mask)


def masked(payload: bytes, mask: bytes) -> bytes:
    """Section 5.3, "octet i of the transformed data is octet i of the original XOR octet i modulo 4 of the key"."""
    key = (mask * (len(payload) // 4 + 1))[: len(payload)]
    return (int.from_bytes(payload, "big") ^ int.from_bytes(key, "big")).to_bytes(len(payload), "big")


class FrameDecoder:
    """Takes what a server sends in any pieces and gives its messages. Raises `MalformedFrame`, then for ever."""

    def __init__(self, *, message_bytes_max: int = MESSAGE_BYTES_MAX) -> None:
        self.closed = False
        """Whether a close frame came; what is behind it is dropped."""
        self._message_bytes_max = message_bytes_max
        self._buffer = bytearray()
        self._opcode: Opcode | None = None
        self._fragments = bytearray()
        self._failed: str | None = None

    def feed(self, data: bytes) -> list[Message]:
        """The messages that `data` completes."""
        if self._failed is not None:
            raise MalformedFrame(self._failed)
        self._buffer += data
        messages: list[Message] = []
        try:
            while not self.closed and self._take_frame(messages):
                pass
        except MalformedFrame as error:
            self._failed = str(error)
            raise
        if self.closed:
            self._buffer.clear()
        return messages

    def _take_frame(self, messages: list[Message]) -> bool:
        """Takes one frame from the buffer; whether there was a whole one."""
        if len(self._buffer) < 2:
            return False
        final, opcode, length, start = self._head(self._buffer[0], self._buffer[1])
        if length is None or len(self._buffer) < start + length:
            return False
        payload = bytes(self._buffer[start : start + length])
        del self._buffer[: start + length]
        if opcode >= Opcode.CLOSE:
            _check_control(opcode, payload)
            self.closed = opcode == Opcode.CLOSE
            messages.append(Message(opcode, payload))
        else:
            self._take_data(opcode, payload, messages, final=final)
        return True

    def _head(self, first: int, second: int) -> tuple[bool, Opcode, int | None, int]:
        """Final flag, opcode, payload length (`None` while unknown) and where the payload starts."""
        final, length, start = bool(first & 0x80), second & 0x7F, 2
        if first & 0x70:
            raise MalformedFrame("A frame uses reserved bits, but no extension was negotiated.")
        try:
            opcode = Opcode(first & 0x0F)
        except ValueError:
            raise MalformedFrame(f"A frame has the reserved opcode {first & 0x0F}.") from None
        if second & 0x80:
            raise MalformedFrame("The server masked a frame, which only clients do.")
        if opcode >= Opcode.CLOSE and (not final or length > CONTROL_BYTES_MAX):
            raise MalformedFrame("A control frame is fragmented or longer than 125 bytes.")
        self._check_order(opcode)
        if length >= 126:
            size = 2 if length == 126 else 8
            start += size
            if len(self._buffer) < start:
                return final, opcode, None, start
            length = int.from_bytes(self._buffer[2:start], "big")
            # "the minimal number of bytes MUST be used to encode the length".
            if length <= (125 if size == 2 else 0xFFFF):
                raise MalformedFrame("A frame's length is not written in its shortest form.")
        if length + len(self._fragments) > self._message_bytes_max:
            raise MalformedFrame(f"A message is longer than {self._message_bytes_max} bytes.")
        return final, opcode, length, start

    def _check_order(self, opcode: Opcode) -> None:
        if opcode == Opcode.CONTINUATION and self._opcode is None:
            raise MalformedFrame("A continuation frame continues nothing.")
        if opcode in (Opcode.TEXT, Opcode.BINARY) and self._opcode is not None:
            raise MalformedFrame("A message began before the one before it ended.")

    def _take_data(self, opcode: Opcode, payload: bytes, messages: list[Message], *, final: bool) -> None:
        if self._opcode is None:
            self._opcode = opcode
        self._fragments += payload
        if not final:
            return
        message = Message(self._opcode, bytes(self._fragments))
        self._opcode = None
        self._fragments.clear()
        if message.opcode == Opcode.TEXT:
            _check_text(message.payload)
        messages.append(message)


def _check_control(opcode: Opcode, payload: bytes) -> None:
    if opcode != Opcode.CLOSE or not payload:
        return
    code = int.from_bytes(payload[:2], "big")
    # Section 7.4: 1004 to 1006 and 1015 are never on the wire, 1016 to 2999 are reserved.
    known = 1000 <= code <= 1014 and code not in (1004, 1005, 1006)
    if len(payload) == 1 or not (known or 3000 <= code <= 4999):
        raise MalformedFrame("A close frame has no valid status code.")
    _check_text(payload[2:])


def _check_text(payload: bytes) -> None:
    try:
        payload.decode()
    except UnicodeDecodeError as error:
        raise MalformedFrame("A text message is not UTF-8.") from error


def handshake_key(nonce: bytes) -> str:
    """`Sec-WebSocket-Key` of 16 random bytes."""
    assert len(nonce) == 16
    return base64.b64encode(nonce).decode()


def accept_of(key: str) -> str:
    """The `Sec-WebSocket-Accept` that proves that the server read `key`."""
    return base64.b64encode(hashlib.sha1(key.encode() + _GUID).digest()).decode()


def handshake_request(*, host: str, target: str, key: str, headers: Mapping[str, str]) -> bytes:
    """The opening handshake of section 4.1; no extension is offered, so none may be used."""
    lines = [f"GET {target} HTTP/1.1", f"Host: {host}", "Upgrade: websocket", "Connection: Upgrade"]
    lines += [f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def check_handshake(head: ResponseHead, key: str) -> None:
    """Raises `MalformedFrame` when the server did not agree to speak WebSocket with this client."""
    upgrade = head.headers.get("upgrade", "").lower()
    connection = [token.strip() for token in head.headers.get("connection", "").lower().split(",")]
    if head.status != 101 or upgrade != "websocket" or "upgrade" not in connection:
        raise MalformedFrame(f"The server answered {head.status} where WebSocket was asked for.")
    if head.headers.get("sec-websocket-accept") != accept_of(key):
        raise MalformedFrame("The server's Sec-WebSocket-Accept does not answer this key.")
    if head.headers.get("sec-websocket-extensions"):
        raise MalformedFrame("The server chose a WebSocket extension that was not offered.")
