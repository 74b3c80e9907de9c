"""A limit on the time and the size of a request body.

A client that sends a byte now and then would occupy its reader for ever. One that sends as fast as it can would
occupy the whole process: a green socket with data never waits, so no timeout fires. No view needs to read the body
for this to happen, because gunicorn reads what is left of it before the connection's next request.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from app import clock

BODY_S = 20.0
"""Time limit of a whole body. The longest legitimate one has 64 KB, and a phone on a bad network sends 1 KB/s."""

READ_BYTES = 8192
"""Size of one read, after which other green threads run. gunicorn would read a megabyte, and copy the rest of it for
each kilobyte or line that it returns."""

CONTENT_BYTES = 262_144
"""Content bytes that a body may have whatever the settings are; no view has a higher bound of its own."""

WIRE_BYTES_OF_A_BYTE = 4
"""Chunked bodies are longer than their content. One that is refused as too long is still read to its end if that is
near: closing with unread bytes resets the connection, and the client may never see the response."""


def wire_bytes_max(*contents_bytes_max: int) -> int:
    """Return the limit on the bytes read of a body, including chunked framing, for content of this size."""
    return WIRE_BYTES_OF_A_BYTE * max(CONTENT_BYTES, *contents_bytes_max)


class TimedReader:
    """Replaces the reader of gunicorn's body, and during each read also the socket of the unreader."""

    def __init__(
        self,
        reader: Any,
        unreader: Any,
        *,
        bytes_max: int,
        limit: Callable[[float], AbstractContextManager[Any]],
        yield_now: Callable[[], None],
        now_us: Callable[[], int] = clock.monotonic_us,
    ) -> None:
        """`limit`: returns a context that leaves its block silently after so many seconds."""
        self._reader = reader
        self._unreader = unreader
        self._source = unreader.sock
        self._left_bytes = bytes_max
        self._limit = limit
        self._yield_now = yield_now
        self._now_us = now_us
        self._until_us: int | None = None

    def expect(self, bytes_max: int) -> None:
        """Raise the size limit so that a body with `bytes_max` of content is read, too."""
        self._left_bytes += wire_bytes_max(bytes_max)

    def read(self, size: int) -> bytes:
        """Read up to `size` bytes. Raises `ConnectionResetError` beyond the limits on time and size."""
        self._unreader.sock = self
        try:
            return self._reader.read(size)  # type: ignore[no-any-return]
        finally:
            self._unreader.sock = self._source

    def recv(self, size: int) -> bytes:
        """Receive from the socket, called by `reader`: one read may need many of these if chunks are small."""
        if self._until_us is None:
            self._until_us = self._now_us() + round(BODY_S * 1e6)
        else:
            self._yield_now()
        left_us = self._until_us - self._now_us()
        if left_us > 0 and self._left_bytes > 0:
            with self._limit(left_us / 1e6):
                data: bytes = self._source.recv(min(size, READ_BYTES))
                self._left_bytes -= len(data)
                return data
        raise ConnectionResetError(errno.ECONNRESET, "The body did not come in time, or does not end.")


def has_come(reader: Any) -> bool:
    """Return True if no wait is needed: there is no body, or it was read along with the head."""
    length = getattr(reader, "length", None)
    return length is not None and length <= reader.unreader.buf.getbuffer().nbytes


def expect(environ: dict[str, Any], bytes_max: int) -> None:
    """Raise this request's body limit to `bytes_max` of content: its authenticated sender may send more than others."""
    reader = getattr(environ["wsgi.input"], "reader", None)
    if isinstance(reader, TimedReader):
        reader.expect(bytes_max)
