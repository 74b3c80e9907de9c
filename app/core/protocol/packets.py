"""Engine.IO 4 and Socket.IO 5 packets in text form, one packet per WebSocket message.

    Engine.IO:  <type>[data]                                    0{"sid":...}   2   3
    Socket.IO:  4<type>[<namespace>,][<ack id>][<JSON>]         40{...}        42["notification",{...}]

Binary attachments are not part of Siar's contract and are refused.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from app.core.errors import MalformedFrame
from app.core.notification import encode_json


class PacketKind(StrEnum):
    """Type of a packet as written on the wire; a type that begins with 4 is a Socket.IO packet in an Engine.IO message."""

    OPEN = "0"
    CLOSE = "1"
    PING = "2"
    PONG = "3"
    UPGRADE = "5"
    NOOP = "6"
    CONNECT = "40"
    DISCONNECT = "41"
    EVENT = "42"
    ACK = "43"
    CONNECT_ERROR = "44"


_MESSAGE = re.compile(r"(4[0-4])(?:(/[^,]{0,200}),)?([0-9]{1,15})?(.*)", re.DOTALL)

_FORMS: dict[PacketKind, tuple[type, ...]] = {
    PacketKind.OPEN: (dict,),
    PacketKind.CONNECT: (dict, type(None)),
    PacketKind.DISCONNECT: (type(None),),
    PacketKind.EVENT: (list,),
    PacketKind.ACK: (list,),
    PacketKind.CONNECT_ERROR: (dict, type(None)),
}
"""JSON types that each packet's data may have; the data of other packets is plain text."""


@dataclass(frozen=True, slots=True)
class Packet:
    """One packet."""

    kind: PacketKind
    data: Any = None
    """Decoded JSON; for ping, pong, close, upgrade and noop the text after the type."""
    namespace: str = "/"
    ack_id: int | None = None


def parse_packet(text: str) -> Packet:
    """Parse one packet. Raises `MalformedFrame` for any other text."""
    if text[:1] in ("1", "2", "3", "5", "6"):
        return Packet(PacketKind(text[0]), text[1:])
    if text[:1] == "0":
        return Packet(PacketKind.OPEN, _checked(PacketKind.OPEN, text[1:]))
    match = _MESSAGE.fullmatch(text)
    if match is None:
        raise MalformedFrame(f"{text[:20]!r} does not begin like a packet of Engine.IO 4 or Socket.IO 5.")
    kind = PacketKind(match[1])
    ack_id = None if match[3] is None else int(match[3])
    return Packet(kind, _checked(kind, match[4]), match[2] or "/", ack_id)


def encode_packet(packet: Packet) -> str:
    """Encode a packet as text."""
    if packet.kind not in _FORMS:
        return packet.kind.value + (packet.data or "")
    namespace = "" if packet.namespace == "/" else f"{packet.namespace},"
    ack = "" if packet.ack_id is None else str(packet.ack_id)
    data = "" if packet.data is None else encode_json(packet.data)
    return f"{packet.kind.value}{namespace}{ack}{data}"


def _checked(kind: PacketKind, text: str) -> Any:
    try:
        data: Any = json.loads(text) if text else None
    except (ValueError, RecursionError) as error:
        raise MalformedFrame(f"The JSON of a packet of type {kind.value} is broken.") from error
    if type(data) not in _FORMS[kind]:
        raise MalformedFrame(f"A packet of type {kind.value} holds the wrong kind of JSON.")
    if kind is PacketKind.EVENT and (data == [] or not isinstance(data[0], str)):
        raise MalformedFrame("An event packet does not begin with the event's name.")
    return data
