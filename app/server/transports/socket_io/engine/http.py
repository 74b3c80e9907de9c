"""HTTP details of Engine.IO's polling: reading bodies and refusing requests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class BadRequest(Exception):
    """A refused request, with its reason; the status is 400 unless given."""

    def __init__(
        self, sentence: str, *, status: str = "400 Bad Request", headers: Sequence[tuple[str, str]] = ()
    ) -> None:
        super().__init__(sentence)
        self.status = status
        self.headers = headers


def read_body(environ: dict[str, Any], *, bytes_max: int) -> bytes:
    """Return a POST's body, reading at most one byte beyond the limit. Raises `BadRequest`."""
    # Without a length, only some servers mark the body's end; with the others reading would block.
    told = environ.get("CONTENT_LENGTH") or (bytes_max + 1 if environ.get("wsgi.input_terminated") else 0)
    try:
        length = int(told)
    except ValueError:
        raise BadRequest("Bad request") from None
    if length < 0:  # The stream below would take it as "read everything".
        raise BadRequest("Bad request")
    body: bytes = b""
    if length <= bytes_max + 1:
        body = environ["wsgi.input"].read(length)
        length = len(body)
    if length > bytes_max:
        raise BadRequest("The body is too long", status="413 Content Too Large")
    return body
