"""Incremental decoder of an HTTP/1.1 response, and the chunked coding of a server's body (RFC 9112).

    bytes in any pieces -> feed() -> bytes of the body, with chunked coding removed

After a 101 the connection uses another protocol, and its bytes are passed on unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping
from dataclasses import dataclass

from app.core.errors import MalformedFrame

HEAD_BYTES_MAX = 16_384
CHUNK_LINE_BYTES_MAX = 1_024
"""Length limit of a chunk's size line, extensions included."""

LAST_CHUNK = b"0\r\n\r\n"
"""End of a complete chunked body. A body without it was torn: "the message is considered incomplete" (section 8)."""

_STATUS = re.compile(rb"HTTP/1\.[01] ([1-5][0-9][0-9])(?: .*)?", re.DOTALL)
_SIZE = re.compile(rb"([0-9A-Fa-f]{1,12})[ \t]*(?:;.*)?", re.DOTALL)
_LENGTH = re.compile(r"[0-9]{1,15}")


@dataclass(frozen=True, slots=True)
class ResponseHead:
    """Status and headers of a response."""

    status: int
    headers: Mapping[str, str]
    """Values by lower-case name; repeated headers are joined by a comma."""


def chunk(data: bytes) -> bytes:
    """Encode `data`, which must not be empty, as one chunk (section 7.1)."""
    assert data, "an empty chunk would end the body"
    return b"%x\r\n%b\r\n" % (len(data), data)


class ResponseDecoder:
    """Decoder of one response, fed in any pieces. After `MalformedFrame` every further call raises it again."""

    def __init__(self) -> None:
        self.head: ResponseHead | None = None
        """`None` until it is complete."""
        self.finished = False
        """True once the body is complete; later bytes are dropped. A body that ends with the connection stays False."""
        self._buffer = bytearray()
        self._steps = self._decode()
        self._body = bytearray()
        self._inside_chunk = False
        self._failed: str | None = None
        next(self._steps)

    @property
    def is_idle(self) -> bool:
        """True if nothing is partly decoded. A load client may then skip decoding of bytes that it has seen before."""
        return self.head is not None and not self._buffer and not self._inside_chunk

    def feed(self, data: bytes) -> bytes:
        """Return the bytes of the body that `data` completes."""
        if self._failed is not None:
            raise MalformedFrame(self._failed)
        self._buffer += data
        try:
            next(self._steps, None)
        except MalformedFrame as error:
            self._failed = str(error)
            raise
        body = bytes(self._body)
        self._body.clear()
        return body

    def _decode(self) -> Generator[None, None, None]:
        """Decode as far as the buffer reaches; yield when more bytes are needed."""
        while True:
            lines = yield from self._head_lines()
            self.head = _parse_head(lines)
            if self.head.status == 101 or self.head.status >= 200:
                break
            self.head = None  # "A client MUST be able to parse one or more 1xx responses received prior".
        coding = self.head.headers.get("transfer-encoding", "").strip().lower()
        length = self.head.headers.get("content-length")
        if self.head.status == 101:
            yield from self._pass_on()
        elif self.head.status in (204, 304):
            pass
        elif coding == "chunked":
            yield from self._chunks()
        elif coding:
            raise MalformedFrame(
                f"The response has the transfer coding {coding[:40]!r}; chunked is understood."
            )
        elif length is not None:
            if not _LENGTH.fullmatch(length):
                raise MalformedFrame("The response's Content-Length is no number.")
            yield from self._take(int(length))
        else:
            yield from self._pass_on()
        self.finished = True
        while True:
            self._buffer.clear()
            yield

    def _head_lines(self) -> Generator[None, None, list[bytes]]:
        lines: list[bytes] = []
        size = 0
        while True:
            line = yield from self._line(HEAD_BYTES_MAX - size, "The response's head is too long.")
            size += len(line) + 2
            if not line:
                return lines
            lines.append(line)

    def _line(self, bytes_max: int, complaint: str) -> Generator[None, None, bytes]:
        searched = 0
        while (end := self._buffer.find(b"\n", searched)) < 0:
            searched = len(self._buffer)
            if searched > bytes_max:
                raise MalformedFrame(complaint)
            yield
        if end > bytes_max:
            raise MalformedFrame(complaint)
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        # "a recipient MAY recognize a single LF as a line terminator and ignore any preceding CR".
        return line[:-1] if line.endswith(b"\r") else line

    def _chunks(self) -> Generator[None, None, None]:
        while True:
            line = yield from self._line(CHUNK_LINE_BYTES_MAX, "A chunk's size line is too long.")
            match = _SIZE.fullmatch(line)
            if match is None:
                raise MalformedFrame("A chunk does not begin with its size.")
            size = int(match[1], 16)
            if size == 0:
                yield from self._head_lines()  # Trailers.
                return
            self._inside_chunk = True
            yield from self._take(size)
            line = yield from self._line(CHUNK_LINE_BYTES_MAX, "A chunk is longer than it said.")
            if line:
                raise MalformedFrame("A chunk is longer than it said.")
            self._inside_chunk = False

    def _take(self, count: int) -> Generator[None, None, None]:
        while count:
            piece = self._buffer[:count]
            del self._buffer[: len(piece)]
            self._body += piece
            count -= len(piece)
            if count:
                yield

    def _pass_on(self) -> Generator[None, None, None]:
        while True:
            self._body += self._buffer
            self._buffer.clear()
            yield


def _parse_head(lines: list[bytes]) -> ResponseHead:
    match = _STATUS.fullmatch(lines[0]) if lines else None
    if match is None:
        raise MalformedFrame("The answer does not begin with an HTTP/1.1 status line.")
    headers: dict[str, str] = {}
    for line in lines[1:]:
        name, colon, value = line.decode("latin-1").partition(":")
        if not colon or not name or name != name.strip():
            raise MalformedFrame("A line of the response's head is no header.")
        name, value = name.lower(), value.strip()
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return ResponseHead(int(match[1]), headers)
