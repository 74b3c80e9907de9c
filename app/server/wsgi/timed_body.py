"""A request's body that has to come within a time and to be no longer than anybody may send.

A byte now and then would hold its reader for ever. Bytes as fast as they go would hold everybody: a green socket that
has some never waits, and no timeout fires then. Nobody needs to want such a body: what a view leaves unread is read
before the connection's next request.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from app import clock

BODY_S = 20.0
"""For all of it; the longest that anybody is to send has 64 KB, and a phone on a bad line a kilobyte a second."""

READ_BYTES = 8192
"""Of a client at a time, between others' turns. gunicorn would take a megabyte, and copy what is left of it for each
kilobyte or line that it hands on."""

CONTENT_BYTES = 262_144
"""What a body may have in any case, whatever the settings say: no view's own bound is above it."""

WIRE_BYTES_OF_A_BYTE = 4
"""A chunked body has more bytes than its content, and one that is refused as too long is still read to its end if that
is near: a connection that is closed with bytes unread is reset, and its client may never see the answer."""


def wire_bytes_max(*contents_bytes_max: int) -> int:
    """How much is read of a body whose content may have so many bytes, framing included."""
    return WIRE_BYTES_OF_A_BYTE * max(CONTENT_BYTES, *contents_bytes_max)


class TimedReader:
    """Stands where gunicorn's body has its reader, and while that reads, also where it has its socket."""

    def __init__(
        self,
        reader: Any,
        unreader: Any,
        *,
        bytes_max: int,
        limit: Callable[[float], AbstractContextManager[Any]],
        give_way: Callable[[], None],
        now_us: Callable[[], int] = clock.monotonic_us,
    ) -> None:
        """`limit`: a context that leaves its block in silence when so many seconds are over."""
        self._reader = reader
        self._unreader = unreader
        self._source = unreader.sock
        self._left_bytes = bytes_max
        self._limit = limit
        self._give_way = give_way
        self._now_us = now_us
        self._until_us: int | None = None

    def expect(self, bytes_max: int) -> None:
        """Read a body of so much content, too."""
        self._left_bytes += wire_bytes_max(bytes_max)

    def read(self, size: int) -> bytes:
        """Up to `size` bytes. Raises `ConnectionResetError` when the time is over, or too much has come."""
        self._unreader.sock = self
        try:
            return self._reader.read(size)  # type: ignore[no-any-return]
        finally:
            self._unreader.sock = self._source

    def recv(self, size: int) -> bytes:
        """The socket's, for `reader`: one read of a body may be many of these, when chunks are small."""
        if self._until_us is None:
            self._until_us = self._now_us() + round(BODY_S * 1e6)
        else:
            self._give_way()
        left_us = self._until_us - self._now_us()
        if left_us > 0 and self._left_bytes > 0:
            with self._limit(left_us / 1e6):
                data: bytes = self._source.recv(min(size, READ_BYTES))
                self._left_bytes -= len(data)
                return data
        raise ConnectionResetError(errno.ECONNRESET, "The body did not come in time, or does not end.")


def has_come(reader: Any) -> bool:
    """Whether nothing has to be waited for: no body, or one that was read along with the head."""
    length = getattr(reader, "length", None)
    return length is not None and length <= reader.unreader.buf.getbuffer().nbytes


def expect(environ: dict[str, Any], bytes_max: int) -> None:
    """Let this request's body have `bytes_max` of content: its sender is known, and may send more than others."""
    reader = getattr(environ["wsgi.input"], "reader", None)
    if isinstance(reader, TimedReader):
        reader.expect(bytes_max)
