"""A request's body that has to come within a time, all of it: a byte now and then would hold its reader for ever."""

from __future__ import annotations

import errno
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from app import clock

BODY_S = 20.0
"""For all of it; the longest that anybody is to send has 64 KB, and a phone on a bad line a kilobyte a second."""


class TimedReader:
    """Stands where gunicorn's body has its reader."""

    def __init__(self, reader: Any, limit: Callable[[float], AbstractContextManager[Any]]) -> None:
        """`limit`: a context that leaves its block in silence when so many seconds are over."""
        self._reader = reader
        self._limit = limit
        self._until_us: int | None = None

    def read(self, size: int) -> bytes:
        """Up to `size` bytes. Raises `ConnectionResetError` when the time is over."""
        now_us = clock.monotonic_us()
        if self._until_us is None:
            self._until_us = now_us + round(BODY_S * 1e6)
        with self._limit(max(0.001, (self._until_us - now_us) / 1e6)):
            return self._reader.read(size)  # type: ignore[no-any-return]
        raise ConnectionResetError(errno.ECONNRESET, "The body did not come in time.")


def has_come(reader: Any) -> bool:
    """Whether nothing has to be waited for: no body, or one that was read along with the head."""
    length = getattr(reader, "length", None)
    return length is not None and length <= reader.unreader.buf.getbuffer().nbytes
