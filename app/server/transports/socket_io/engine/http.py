"""HTTP as Engine.IO's polling uses it: bodies and refusals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class BadRequest(Exception):
    """What a request is refused for, with 400 unless it says otherwise."""

    def __init__(
        self, sentence: str, *, status: str = "400 Bad Request", headers: Sequence[tuple[str, str]] = ()
    ) -> None:
        super().__init__(sentence)
        self.status = status
        self.headers = headers


def read_body(environ: dict[str, Any], *, bytes_max: int) -> bytes:
    """A POST's body. Raises `BadRequest`; of a body that is too long no more is read than that."""
    # Without a length only some servers say where the body ends; reading on would wait for the client's end.
    told = environ.get("CONTENT_LENGTH") or (bytes_max + 1 if environ.get("wsgi.input_terminated") else 0)
    try:
        length = int(told)
    except ValueError:
        raise BadRequest("Bad request") from None
    if length < 0:  # "Read all that comes", to the stream below.
        raise BadRequest("Bad request")
    body: bytes = b""
    if length <= bytes_max + 1:
        body = environ["wsgi.input"].read(length)
        length = len(body)
    if length > bytes_max:
        raise BadRequest("The body is too long", status="413 Content Too Large")
    return body
