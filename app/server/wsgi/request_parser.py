"""Changes to gunicorn's request parser: a limit on the size of a whole head, and the response to an unreadable request.

gunicorn limits each line of a head, but a head may have as many bytes as all of its lines at their longest, half a megabyte
with our limits. As it parses everything again whenever more arrives, a head that is sent a little at a time and refused in
the end would cost many times what a request does.

The response is a problem document instead of gunicorn's HTML without Date. It is in English, because the language that the
client prefers is unknown.
"""

from __future__ import annotations

from typing import Any

from gunicorn import util
from gunicorn.http.message import Request
from gunicorn.http.parser import RequestParser

from app.i18n import LANGUAGES, refusal
from app.server.wsgi import problem

HEAD_LINES = 4
"""A head may have as many bytes as this many lines of maximum length (`header_bytes_max`). nginx has the same limit: four
buffers of 8 KB."""

HEAD_BYTES_MIN = 16_384
"""Size that is always allowed, however short a single line must be. A browser's head has one or two KB."""

_CODES = {414: "address_too_long", 431: "head_too_long", 500: "failed", 501: "transfer_coding"}
"""Codes by the status that gunicorn chose; for others the request is unreadable."""

_REASON_CHARS_MAX = 200
"""gunicorn's reasons quote the request, so they are truncated."""


class ShortHeadRequest(Request):  # type: ignore[misc]
    """gunicorn's request with a smaller limit for its head, beyond which the response is 431."""

    @property
    def max_buffer_headers(self) -> int:
        """Return the limit of all lines together, in bytes."""
        return max(HEAD_BYTES_MIN, HEAD_LINES * int(self.limit_request_field_size))

    @max_buffer_headers.setter
    def max_buffer_headers(self, _theirs: int) -> None:
        """Ignore gunicorn's own limit, which is never smaller."""


def use() -> None:
    """Replace gunicorn's request class and its function for errors in this process."""
    RequestParser.mesg_class = ShortHeadRequest
    util.write_error = write_error


def write_error(sock: Any, status: int, _title: str, reason: str) -> None:
    """Write the response; replaces gunicorn's function of this name, which calls a 501 a "Bad Request"."""
    detail = refusal(_CODES.get(status, "request_unreadable"), reason=reason[:_REASON_CHARS_MAX])
    line, headers, body = problem.answer(status, detail, LANGUAGES[0])
    head = [f"HTTP/1.1 {line}", f"Date: {util.http_date()}", *(f"{name}: {value}" for name, value in headers)]
    util.write_nonblock(sock, "\r\n".join([*head, "", ""]).encode("latin-1") + body)
