"""The decoder of an HTTP response."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.errors import MalformedFrame
from app.core.protocol.http_response import CHUNK_LINE_BYTES_MAX, HEAD_BYTES_MAX, ResponseDecoder

CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("response", "body", "finished"),
    [
        pytest.param(
            CHUNKED + b"5\r\nhello\r\n6;x=y\r\n world\r\n0\r\n\r\n", b"hello world", True, id="chunked"
        ),
        pytest.param(
            CHUNKED + b"A\r\n0123456789\r\n0\r\nT: x\r\n\r\nrest", b"0123456789", True, id="trailers"
        ),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabc", b"ab", True, id="length"),
        pytest.param(b"HTTP/1.1 204 No\r\n\r\nabc", b"", True, id="no content"),
        pytest.param(b"HTTP/1.0 200 OK\n\nabc", b"abc", False, id="until close, bare LF"),
        pytest.param(
            b"HTTP/1.1 101 Go\r\nUpgrade: websocket\r\n\r\n\x81\x00", b"\x81\x00", False, id="upgrade"
        ),
        pytest.param(b"HTTP/1.1 100 C\r\n\r\nHTTP/1.1 200\r\n\r\na", b"a", False, id="an interim response"),
    ],
)
def test_the_body_is_what_the_head_says(response: bytes, body: bytes, finished: bool) -> None:
    decoder = ResponseDecoder()

    assert decoder.feed(response) == body
    assert decoder.finished is finished


def test_headers_are_found_by_lower_case_name() -> None:
    decoder = ResponseDecoder()

    decoder.feed(b"HTTP/1.1 404 Not Found\r\nX-A: 1\r\nx-a: 2\r\n\r\n")

    assert decoder.head is not None
    assert (decoder.head.status, dict(decoder.head.headers)) == (404, {"x-a": "1, 2"})


@pytest.mark.parametrize(
    "response",
    [
        pytest.param(b"SSH-2.0\r\n\r\n", id="another protocol"),
        pytest.param(b"HTTP/1.1 200\r\nno header\r\n\r\n", id="a line that is no header"),
        pytest.param(b"HTTP/1.1 200\r\nTransfer-Encoding: gzip\r\n\r\n", id="another coding"),
        pytest.param(b"HTTP/1.1 200\r\nContent-Length: -1\r\n\r\n", id="a negative length"),
        pytest.param(CHUNKED + b"x\r\n", id="a chunk without a size"),
        pytest.param(CHUNKED + b"1\r\nab\r\n", id="a chunk longer than it said"),
        pytest.param(CHUNKED + b"1" * 2000, id="a size without end"),
        pytest.param(b"HTTP/1.1 200\r\nA: " + b"x" * 20_000, id="a head without end"),
    ],
)
def test_what_breaks_http_is_refused_for_good(response: bytes) -> None:
    decoder = ResponseDecoder()

    with pytest.raises(MalformedFrame):
        decoder.feed(response)
    with pytest.raises(MalformedFrame):
        decoder.feed(b"")


@pytest.mark.parametrize("lines", [1, 100])
@pytest.mark.parametrize(("beyond_bytes", "is_taken"), [(0, True), (2, False)])
def test_a_head_may_be_as_long_as_the_limit_however_many_lines_it_has(
    lines: int, beyond_bytes: int, is_taken: bool
) -> None:
    first = b"HTTP/1.1 200 OK\r\n" + b"A: 1\r\n" * (lines - 1) + b"B: "
    padding = HEAD_BYTES_MAX - len(first) - len(b"\r\n\r\n") + beyond_bytes
    decoder = ResponseDecoder()

    with contextlib.nullcontext() if is_taken else pytest.raises(MalformedFrame, match="head is too long"):
        decoder.feed(first + b"x" * padding + b"\r\n\r\n")

    assert (decoder.head is not None) is is_taken


@pytest.mark.parametrize(("beyond_bytes", "is_taken"), [(0, True), (1, False)])
def test_a_chunks_first_line_may_be_as_long_as_the_limit(beyond_bytes: int, is_taken: bool) -> None:
    line = b"2;" + b"x" * (CHUNK_LINE_BYTES_MAX - len(b"2;\r") + beyond_bytes) + b"\r\n"
    decoder = ResponseDecoder()

    with contextlib.nullcontext() if is_taken else pytest.raises(MalformedFrame, match="too long"):
        assert decoder.feed(CHUNKED + line + b"ab\r\n") == b"ab"


@given(st.lists(st.binary(min_size=1, max_size=20), max_size=6), st.data())
def test_it_does_not_matter_where_a_response_is_split(chunks: list[bytes], draw: st.DataObject) -> None:
    coded = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)
    response = CHUNKED + coded + b"0\r\n\r\n"
    cuts = sorted(draw.draw(st.lists(st.integers(0, len(response)), max_size=6)))
    pieces = [response[start:end] for start, end in zip([0, *cuts], [*cuts, len(response)], strict=True)]
    decoder = ResponseDecoder()

    assert b"".join(map(decoder.feed, pieces)) == b"".join(chunks)
    assert decoder.finished


@given(st.binary(max_size=200), st.booleans())
def test_no_bytes_raise_anything_but_malformed_frame(noise: bytes, with_head: bool) -> None:
    decoder = ResponseDecoder()

    with contextlib.suppress(MalformedFrame):
        decoder.feed(CHUNKED + noise if with_head else noise)
