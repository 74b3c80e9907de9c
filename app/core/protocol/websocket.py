"""WebSocket framing and handshake for client and server (RFC 6455): an encoder, and decoders fed in any pieces.

bytes from a server, in any pieces -> FrameDecoder.feed()       -> messages, control frames between them
bytes from a client, masked        -> ClientFrameDecoder.feed() -> likewise
"""

from __future__ import annotations

import base64
import hashlib
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

from app.core.errors import MalformedFrame
from app.core.protocol.deflate import COMPRESSED_BYTES_MAX, inflated_message
from app.core.protocol.http_response import ResponseHead

MESSAGE_BYTES_MAX = 262_144
"""Size limit of one message in a decoder; the largest notification has less than half of it."""

CONTROL_BYTES_MAX = 125
"""Section 5.5: "All control frames MUST have a payload length of 125 bytes or less"."""

FINAL = 0x80
COMPRESSED = 0x40
"""Bits FIN and RSV1 of a frame's first byte."""

NOT_UTF8 = 1007
NOT_ALLOWED = 1008
TOO_BIG = 1009
"""Status codes of a close frame (section 7.4.1); any other malformed input is a "protocol error", 1002."""

_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class Opcode(IntEnum):
    """Opcodes of section 5.2; all others are reserved."""

    CONTINUATION = 0
    TEXT = 1
    BINARY = 2
    CLOSE = 8
    PING = 9
    PONG = 10


_OPCODES = tuple(Opcode(number) if number in Opcode._value2member_map_ else None for number in range(16))
"""Opcodes by number, which is many times faster than a lookup in the enumeration."""


@dataclass(frozen=True, slots=True)
class Message:
    """A complete message, or a control frame."""

    opcode: Opcode
    payload: bytes
    """Valid UTF-8 for a text message; a valid code and reason for a close frame."""

    @property
    def text(self) -> str:
        """Payload as text."""
        return self.payload.decode()


def encode_frame(opcode: Opcode, payload: bytes, *, mask: bytes | None, is_compressed: bool = False) -> bytes:
    """Encode one unfragmented frame. A client must pass four random bytes as `mask`; a server must pass `None`.

    `is_compressed`: the payload is a `deflated_message`, which needs permessage-deflate (RFC 7692, section 6: RSV1).
    """
    bit = 0x80 if mask is not None else 0
    first = (FINAL | COMPRESSED if is_compressed else FINAL) | opcode
    length = len(payload)
    if length <= 125:
        head = struct.pack("!BB", first, bit | length)
    elif length <= 0xFFFF:
        head = struct.pack("!BBH", first, bit | 126, length)
    else:
        head = struct.pack("!BBQ", first, bit | 127, length)
    return head + payload if mask is None else head + mask + masked(payload, mask)


def encode_close(code: int, reason: str = "", *, mask: bytes | None = None) -> bytes:
    """Encode a close frame; `reason` has at most 123 bytes."""
    payload = code.to_bytes(2, "big") + reason.encode()
    assert len(payload) <= CONTROL_BYTES_MAX
    return encode_frame(Opcode.CLOSE, payload, mask=mask)


def masked(payload: bytes, mask: bytes) -> bytes:
    """Mask or unmask a payload by section 5.3.

    "octet i of the transformed data is octet i of the original XOR octet i modulo 4 of the key"
    """
    key = (mask * (len(payload) // 4 + 1))[: len(payload)]
    return (int.from_bytes(payload, "big") ^ int.from_bytes(key, "big")).to_bytes(len(payload), "big")


class FrameDecoder:
    """Decoder of a server's frames, fed in any pieces. After `MalformedFrame` every further call raises it again.

    An idle decoder has no buffers, only a few numbers, because a server has one per client.
    """

    __slots__ = (
        *("_failed", "_held", "_is_compressed", "_message_bytes_max", "_opcode", "_parts"),
        *("closed", "fragment_count", "inflates"),
    )

    _from_client = False

    def __init__(self, *, message_bytes_max: int = MESSAGE_BYTES_MAX) -> None:
        self.closed = False
        """True after a close frame; later bytes are dropped."""
        self.fragment_count = 0
        """Number of non-final frames in the last `feed`."""
        self.inflates = False
        """True if permessage-deflate was negotiated, without context takeover."""
        self._is_compressed = False
        """Compression bit of the current message."""
        self._message_bytes_max = message_bytes_max
        self._held: bytearray | None = None
        """Beginning of an incomplete frame."""
        self._opcode: Opcode | None = None
        """Opcode of a fragmented message that is incomplete."""
        self._parts: bytearray | None = None
        """Fragments of that message so far."""
        self._failed: tuple[str, int] | None = None

    @property
    def held_bytes(self) -> int:
        """Number of buffered bytes, at most `message_bytes_max` and one control frame with its head."""
        return len(self._held or b"") + len(self._parts or b"")

    @property
    def is_idle(self) -> bool:
        """True if the next byte begins a new message."""
        return self._held is None and self._opcode is None and not self.closed

    def feed(self, data: bytes) -> list[Message]:
        """Return the messages that `data` completes. On a protocol error the messages in the same `data` are lost."""
        if self._failed is not None:
            sentence, close_code = self._failed
            raise MalformedFrame(sentence, close_code=close_code)
        self.fragment_count = 0
        stream: bytes | bytearray = data
        if self._held is not None:
            self._held += data
            stream = self._held
        messages: list[Message] = []
        start = 0
        try:
            while not self.closed and (end := self._take_frame(stream, start, messages)):
                start = end
        except MalformedFrame as error:
            self._failed = str(error), error.close_code
            self._held = self._parts = None
            raise
        if self.closed or start == len(stream):
            self._held = None
        elif self._held is not None:
            del self._held[:start]
        else:
            self._held = bytearray(data[start:])
        return messages

    def _take_frame(self, stream: bytes | bytearray, start: int, messages: list[Message]) -> int:
        """Decode the frame that begins at `start`; return its end, or 0 if it is incomplete."""
        if len(stream) < start + 2:
            return 0
        first, second = stream[start], stream[start + 1]
        opcode, length = self._check_head(first, second), second & 0x7F
        at = start + 2
        if length >= 126:
            at += 2 if length == 126 else 8
            if len(stream) < at:
                return 0
            length = _extended_length(stream[start + 2 : at])
        if opcode < Opcode.CLOSE and length + len(self._parts or b"") > self._message_bytes_max:
            raise MalformedFrame(
                f"A message is longer than {self._message_bytes_max} bytes.", close_code=TOO_BIG
            )
        key_at = at
        if self._from_client:
            at += 4
        end = at + length
        if len(stream) < end:
            return 0
        payload = bytes(stream[at:end])
        if self._from_client:
            payload = masked(payload, bytes(stream[key_at:at]))
        if opcode >= Opcode.CLOSE:
            _check_control(opcode, payload)
            self.closed = opcode is Opcode.CLOSE
            messages.append(Message(opcode, payload))
        else:
            if opcode is not Opcode.CONTINUATION:
                self._is_compressed = bool(first & COMPRESSED)
            self._take_data(opcode, payload, messages, final=first >= FINAL)
        return end

    def _check_head(self, first: int, second: int) -> Opcode:
        """Check a frame's first two bytes and return its opcode."""
        opcode = _OPCODES[first & 0x0F]
        if first & 0x70 and not (
            # RFC 7692, section 6.1: only the first frame of a message has the bit, and control frames never have it.
            self.inflates and first & 0x70 == COMPRESSED and opcode in (Opcode.TEXT, Opcode.BINARY)
        ):
            raise MalformedFrame("A frame uses reserved bits that no extension has given a meaning.")
        if opcode is None:
            raise MalformedFrame(f"A frame has the reserved opcode {first & 0x0F}.")
        if (second >= 0x80) is not self._from_client:
            raise MalformedFrame(
                # Section 5.1: "The server MUST close the connection upon receiving a frame that is not masked."
                "The client did not mask a frame."
                if self._from_client
                else "The server masked a frame, which only clients do."
            )
        if opcode >= Opcode.CLOSE:
            if first < 0x80 or second & 0x7F > CONTROL_BYTES_MAX:
                raise MalformedFrame("A control frame is fragmented or longer than 125 bytes.")
        elif opcode is Opcode.CONTINUATION:
            if self._opcode is None:
                raise MalformedFrame("A continuation frame continues nothing.")
        elif self._opcode is not None:
            raise MalformedFrame("A message began before the one before it ended.")
        return opcode

    def _take_data(self, opcode: Opcode, payload: bytes, messages: list[Message], *, final: bool) -> None:
        if self._opcode is not None or not final:
            if self._parts is None:
                self._opcode, self._parts = opcode, bytearray()
            self._parts += payload
            if not final:
                self.fragment_count += 1
                return
            assert self._opcode is not None
            opcode, payload = self._opcode, bytes(self._parts)
            self._opcode = self._parts = None
        if self._is_compressed:
            payload = inflated_message(payload, bytes_max=min(self._message_bytes_max, COMPRESSED_BYTES_MAX))
        if opcode is Opcode.TEXT:
            _check_text(payload)
        messages.append(Message(opcode, payload))


class ClientFrameDecoder(FrameDecoder):
    """Decoder of a client's frames, which must all be masked."""

    __slots__ = ()

    _from_client = True


def _extended_length(digits: bytes | bytearray) -> int:
    length = int.from_bytes(digits, "big")
    # "the minimal number of bytes MUST be used to encode the length", and of eight "the most significant bit MUST be 0".
    if length <= (125 if len(digits) == 2 else 0xFFFF) or length >= 1 << 63:
        raise MalformedFrame("A frame's length is not written in its shortest form, or is negative.")
    return length


def _check_control(opcode: Opcode, payload: bytes) -> None:
    if opcode is not Opcode.CLOSE or not payload:
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
        raise MalformedFrame("A text message is not UTF-8.", close_code=NOT_UTF8) from error


def handshake_key(nonce: bytes) -> str:
    """Encode 16 random bytes as `Sec-WebSocket-Key`."""
    assert len(nonce) == 16
    return base64.b64encode(nonce).decode()


def accept_of(key: str) -> str:
    """Return the `Sec-WebSocket-Accept` for a key, by which a server proves that it read the key."""
    return base64.b64encode(hashlib.sha1(key.encode() + _GUID).digest()).decode()


def handshake_request(*, host: str, target: str, key: str, headers: Mapping[str, str]) -> bytes:
    """Encode the opening handshake of section 4.1; no extension is offered, so the server may not use any."""
    lines = [f"GET {target} HTTP/1.1", f"Host: {host}", "Upgrade: websocket", "Connection: Upgrade"]
    lines += [f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def check_handshake(head: ResponseHead, key: str) -> None:
    """Check the server's handshake. Raises `MalformedFrame` if it did not accept the upgrade to WebSocket."""
    upgrade = head.headers.get("upgrade", "").lower()
    connection = [token.strip() for token in head.headers.get("connection", "").lower().split(",")]
    if head.status != 101 or upgrade != "websocket" or "upgrade" not in connection:
        raise MalformedFrame(f"The server answered {head.status} where WebSocket was asked for.")
    if head.headers.get("sec-websocket-accept") != accept_of(key):
        raise MalformedFrame("The server's Sec-WebSocket-Accept does not answer this key.")
    if head.headers.get("sec-websocket-extensions"):
        raise MalformedFrame("The server chose a WebSocket extension that was not offered.")
