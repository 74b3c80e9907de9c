"""Decoding of a subscriber's bytes, which arrive merged or split, into notification offsets.

    rest of before + what was read -> parse_events / parse_frames -> Parsed(offsets, ..., rest)

These are pure functions of bytes: thousands of connections read the same bytes, so the swarm caches the results. A
notification is recognised by `"offset":N,` in its JSON. No text inside a JSON string can imitate that, because its
quotes would be escaped. Whether offsets are consecutive is checked in `connection.py`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from app.core.errors import MalformedFrame
from app.core.protocol.http_response import LAST_CHUNK

_OFFSET = re.compile(rb'"offset":(\d+),')
_BLOCK_END = b"\n\n"
_CHUNK_END = b"\r\n"

_FINAL_TEXT = 0x81
_CLOSE = 0x88
_TWO_BYTES = 126
_EIGHT_BYTES = 127

_OPEN, _ENGINE_PING = ord("0"), ord("2")
_MESSAGE = ord("4")
_CONNECT, _DISCONNECT, _EVENT = ord("0"), ord("1"), ord("2")
_NOOP = ord("6")


@dataclass(frozen=True, slots=True)
class Parsed:
    """Contents of a piece of a connection's bytes."""

    offsets: tuple[int, ...] = ()
    """Offsets of the complete notifications, in their order on the wire."""
    idle: int = 0
    """Traffic of an idle connection: heartbeats of SSE, pings of Engine.IO, and the first block of an event stream."""
    opened: bool = False
    """Engine.IO's OPEN was received."""
    connected: bool = False
    """Socket.IO's answer to CONNECT was received."""
    ended: bool = False
    """The server closed the stream in an orderly way."""
    rest: bytes = b""
    """Bytes that are not complete yet."""

    @property
    def plain_run(self) -> tuple[int, int] | None:
        """First and last offset if there are only complete notifications with consecutive offsets, else `None`."""
        if not self.offsets or self.rest or self.idle or self.opened or self.connected or self.ended:
            return None
        first, last = self.offsets[0], self.offsets[-1]
        return (first, last) if self.offsets == tuple(range(first, last + 1)) else None


def parse_events(data: bytes) -> Parsed:
    """Decode events of an event stream, each ended by a blank line.

    The lines of the chunked encoding between two events are skipped, because our servers put whole events into a chunk.
    A chunk boundary inside an offset would count as a loss, which is noticed. The last chunk is the orderly end of the
    stream.
    """
    end = data.rfind(_BLOCK_END) + len(_BLOCK_END)
    if end < len(_BLOCK_END):
        ended = data.removeprefix(_CHUNK_END) == LAST_CHUNK
        return Parsed(ended=ended, rest=b"" if ended else data)
    whole = data[:end]
    offsets = tuple(map(int, _OFFSET.findall(whole)))
    rest = data[end:]
    ended = rest == _CHUNK_END + LAST_CHUNK
    if ended or rest == _CHUNK_END:  # Nothing is incomplete.
        rest = b""
    return Parsed(offsets, whole.count(_BLOCK_END) - len(offsets), ended=ended, rest=rest)


def parse_frames(data: bytes) -> Parsed:
    """Decode unmasked WebSocket frames with Socket.IO packets. Raises `MalformedFrame`."""
    return _equal_events(data) or _any_frames(data)


def _equal_events(data: bytes) -> Parsed | None:
    """Decode complete frames of equal size with one event each, column by column; `None` for anything else."""
    if len(data) < 6 or data[0] != _FINAL_TEXT or data[1] != _TWO_BYTES:
        return None
    size = 4 + (data[2] << 8 | data[3])
    count, over = divmod(len(data), size)
    if over or size < 6 or any(data[at::size] != data[at : at + 1] * count for at in range(4)):
        return None
    if data[4::size] != b"4" * count or data[5::size] != b"2" * count:
        return None
    offsets = tuple(map(int, _OFFSET.findall(data)))
    return Parsed(offsets) if len(offsets) == count else None


def _any_frames(data: bytes) -> Parsed:
    at, size = 0, len(data)
    offsets: list[int] = []
    idle = 0
    opened = connected = ended = False
    while (bounds := _frame_bounds(data, at, size)) is not None:
        first, begin, end = data[at], *bounds
        at = end
        if first == _CLOSE:
            ended = True
            continue
        if first != _FINAL_TEXT:
            raise MalformedFrame(f"A frame begins with {first:#x}, which no server of this bench writes.")
        kind = data[begin] if end > begin else 0
        inner = data[begin + 1] if end > begin + 1 else 0
        if kind == _MESSAGE and inner == _EVENT:
            found = _OFFSET.search(data, begin, end)
            if found is not None:
                offsets.append(int(found[1]))
        elif kind == _ENGINE_PING:
            idle += 1
        elif kind == _OPEN:
            opened = True
        elif kind == _MESSAGE and inner == _CONNECT:
            connected = True
        elif kind == _MESSAGE and inner == _DISCONNECT:
            ended = True
        elif kind != _NOOP:
            raise MalformedFrame(f"A packet begins with {data[begin : begin + 2]!r}.")
    return Parsed(tuple(offsets), idle, opened, connected, ended, data[at:])


def _frame_bounds(data: bytes, at: int, size: int) -> tuple[int, int] | None:
    """Return where the payload of the frame at `at` begins and ends; `None` if the frame is incomplete."""
    if size - at < 2:
        return None
    length, begin = data[at + 1], at + 2
    if length & 0x80:
        raise MalformedFrame("The server masked a frame, which only clients do.")
    if length == _TWO_BYTES:
        begin += 2
    elif length == _EIGHT_BYTES:
        begin += 8
    if begin > at + 2:
        if size < begin:
            return None
        length = int.from_bytes(data[at + 2 : begin], "big")
    return (begin, begin + length) if begin + length <= size else None
