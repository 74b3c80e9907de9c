"""Bodies that do not end, read by gunicorn's own readers from a socket that always has more."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from gunicorn.http.body import ChunkedReader, LengthReader
from gunicorn.http.unreader import SocketUnreader

from app.server.web.room.room import FINISH_BYTES_MAX
from app.server.wsgi.timed_body import (
    BODY_S,
    CONTENT_BYTES,
    READ_BYTES,
    TimedReader,
    expect,
    wire_bytes_max,
)

S = 1_000_000
"""Microseconds."""

FOR_EVER = 10**12


class Endless:
    """A socket whose peer sends `first` and then `again` without end, faster than anybody reads."""

    def __init__(self, first: bytes, again: bytes) -> None:
        self._rest = first
        self._again = again
        self.sizes: list[int] = []

    def recv(self, size: int) -> bytes:
        while len(self._rest) < size:
            self._rest += self._again * (size // len(self._again) + 1)
        data, self._rest = self._rest[:size], self._rest[size:]
        self.sizes.append(len(data))
        return data


def chunked(unreader: Any) -> Any:
    return ChunkedReader(SimpleNamespace(), unreader)


def of_length(unreader: Any) -> Any:
    return LengthReader(unreader, FOR_EVER)


ENDLESS: dict[str, tuple[Callable[[Any], Any], bytes, bytes]] = {
    "a told length": (of_length, b"", b"\0"),
    "one chunk": (chunked, b"%X\r\n" % FOR_EVER, b"\0"),
    "tiny chunks": (chunked, b"", b"1\r\na\r\n"),
    "lines that are longer than their chunks": (chunked, b"", b"1;x=" + b"y" * 4000 + b"\r\na\r\n"),
}


class Body:
    """One of them, and how it was read."""

    def __init__(self, kind: str, *, bytes_max: int = FOR_EVER) -> None:
        make, first, again = ENDLESS[kind]
        self.sock = Endless(first, again)
        self.unreader = SocketUnreader(self.sock)
        self.turns = 0
        self.now_us = 0
        self.reader = TimedReader(
            make(self.unreader),
            self.unreader,
            bytes_max=bytes_max,
            limit=lambda _seconds: contextlib.nullcontext(),
            yield_now=self._yield_now,
            now_us=lambda: self.now_us,
        )

    def _yield_now(self) -> None:
        self.turns += 1
        self.now_us += S

    def read_on(self) -> None:
        while True:
            self.reader.read(1024)


@pytest.mark.parametrize("kind", ENDLESS)
def test_an_endless_body_is_cut_off_at_the_size_limit(kind: str) -> None:
    body = Body(kind, bytes_max=10 * READ_BYTES)

    with pytest.raises(ConnectionResetError):
        body.read_on()

    assert sum(body.sock.sizes) == 10 * READ_BYTES


@pytest.mark.parametrize("kind", ENDLESS)
def test_a_body_is_cut_off_at_its_time_limit_even_if_more_is_there(kind: str) -> None:
    """A reader that never waits is ended by no timeout."""
    body = Body(kind)

    with pytest.raises(ConnectionResetError):
        body.read_on()

    assert body.now_us == BODY_S * S


@pytest.mark.parametrize("kind", ENDLESS)
def test_other_green_threads_run_between_two_reads_of_the_socket(kind: str) -> None:
    body = Body(kind, bytes_max=10 * READ_BYTES)

    with pytest.raises(ConnectionResetError):
        body.reader.read(FOR_EVER)

    assert max(body.sock.sizes) <= READ_BYTES
    assert body.turns == len(body.sock.sizes)


def test_the_longest_body_that_is_allowed_is_read_whole_in_chunks_however_small() -> None:
    content = b"0123456789abcdef" * 4096
    chunks = b"".join(b"10\r\n" + content[at : at + 16] + b"\r\n" for at in range(0, len(content), 16))
    sock = Endless(chunks + b"0\r\n\r\n", b"GET / HTTP/1.1\r\n")
    unreader = SocketUnreader(sock)
    reader = TimedReader(
        chunked(unreader),
        unreader,
        bytes_max=wire_bytes_max(len(content)),
        limit=lambda _seconds: contextlib.nullcontext(),
        yield_now=lambda: None,
    )

    read = b"".join(iter(lambda: reader.read(1024), b""))

    assert read == content
    assert unreader.sock is sock, "the next request is read as before"


def test_the_longest_body_that_a_view_takes_may_come_whole_in_small_chunks() -> None:
    assert FINISH_BYTES_MAX <= CONTENT_BYTES


@pytest.mark.parametrize("kind", ENDLESS)
def test_a_known_sender_has_a_higher_limit(kind: str) -> None:
    known, other = (Body(kind, bytes_max=wire_bytes_max(1)) for _ in range(2))
    environ = {"wsgi.input": SimpleNamespace(reader=known.reader)}

    expect(environ, 2 * CONTENT_BYTES)
    for each in (known, other):
        each.reader._now_us = lambda: 0  # Time is not what ends it.
        with pytest.raises(ConnectionResetError):
            each.read_on()

    assert sum(known.sock.sizes) == sum(other.sock.sizes) + wire_bytes_max(2 * CONTENT_BYTES)


def test_a_body_that_needs_no_reader_of_ours_needs_no_more_either() -> None:
    expect({"wsgi.input": SimpleNamespace(reader=None)}, 1)
