"""A request's head is bounded as a whole, and not only each of its lines.

gunicorn lets a head have as many bytes as all of its lines at their longest, half a megabyte with our limits, and looks
through everything that it has each time more comes: what is sent a little at a time, and is refused in the end, costs
many times what a request does.
"""

from __future__ import annotations

from gunicorn.http.message import Request
from gunicorn.http.parser import RequestParser

HEADS_LINES = 4
"""At their longest (`header_bytes_max`) a head may have so many; nginx likewise: four buffers of 8 KB."""

HEAD_BYTES_MIN = 16_384
"""So much is always allowed, however short a single line has to be: a browser's takes one or two KB."""


class ShortHeadRequest(Request):  # type: ignore[misc]
    """gunicorn's request, with a smaller bound for its head; beyond it the answer is 431."""

    @property
    def max_buffer_headers(self) -> int:
        """Bytes of all lines together."""
        return max(HEAD_BYTES_MIN, HEADS_LINES * int(self.limit_request_field_size))

    @max_buffer_headers.setter
    def max_buffer_headers(self, _theirs: int) -> None:
        """gunicorn's own is never less."""


def use() -> None:
    """Make gunicorn parse requests with this class, in this process from now on."""
    RequestParser.mesg_class = ShortHeadRequest
