"""How a polling request's body is read."""

from __future__ import annotations

import io

import pytest

from app.server.transports.socket_io.engine.server import BadRequest, read_body


class Body(io.BytesIO):
    """A request's stream that never ends: asking for all of it would wait for the client's end."""

    def read(self, size: int | None = -1) -> bytes:
        assert size is not None
        assert size >= 0, "all that comes was asked for"
        return super().read(size)


def body_of(length: str, *, bytes_max: int = 10) -> bytes:
    return read_body({"CONTENT_LENGTH": length, "wsgi.input": Body(b"0123456789abcdef")}, bytes_max=bytes_max)


def test_a_body_is_read_as_far_as_its_length_says() -> None:
    assert body_of("4") == b"0123"
    assert body_of("10") == b"0123456789"
    assert body_of("") == b""


@pytest.mark.parametrize("length", ["-1", "-4", "four", "0x4", "4.0"])
def test_a_length_that_is_none_is_refused(length: str) -> None:
    with pytest.raises(BadRequest) as refused:
        body_of(length)

    assert refused.value.status == "400 Bad Request"


@pytest.mark.parametrize("length", ["11", "16", "999999999999"])
def test_a_body_that_is_too_long_is_refused(length: str) -> None:
    with pytest.raises(BadRequest) as refused:
        body_of(length)

    assert refused.value.status == "413 Content Too Large"
