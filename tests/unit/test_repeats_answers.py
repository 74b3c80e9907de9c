"""What a repeated request is answered: byte for byte what gunicorn wrote to the first, whatever the application does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from email.utils import parsedate_to_datetime

import pytest

from app import clock
from tests.support.blocking_worker import REQUEST, BlockingWorker, Noting, Start, undated


def plain(status: str, body: bytes, *more: tuple[str, str]) -> Callable[[Start], Iterable[bytes]]:
    def app(start: Start) -> Iterable[bytes]:
        start(status, [("Content-Type", "text/plain"), *more, ("Content-Length", str(len(body)))])
        return [body]

    return app


def in_parts(start: Start) -> Iterable[bytes]:
    start("200 OK", [("Content-Length", "6")])
    return [b"one", b"two"]


def of_no_length(start: Start) -> Iterable[bytes]:
    start("200 OK", [("Content-Type", "text/plain")])
    return [b"one", b"two"]


def too_long(start: Start) -> Iterable[bytes]:
    start("200 OK", [("Content-Length", "3")])
    return [b"onetwo"]


def nothing(start: Start) -> Iterable[bytes]:
    start("200 OK", [("Content-Length", "0")])
    return []


def late(start: Start) -> Iterator[bytes]:
    """Nothing is said before somebody reads."""
    start("201 Created", [("Content-Length", "6")])
    yield b"one"
    yield b"two"


def by_write(start: Start) -> Iterable[bytes]:
    write = start("200 OK", [("Content-Length", "6")])
    write(b"one")
    return [b"two"]


ANSWERS: dict[str, Callable[[Start], Iterable[bytes]]] = {
    "200": plain("200 OK", b"hello"),
    "201": plain("201 CREATED", b"hello", ("X-Of-Ours", " padded ")),
    "empty": plain("200 OK", b""),
    "202": plain("202 Accepted", b"hello"),
    "204": plain("204 No Content", b""),
    "204 with what it must not have": plain("204 No Content", b"hello"),
    "205": plain("205 Reset Content", b""),
    "304": plain("304 Not Modified", b"hello"),
    "404": plain("404 Not Found", b"hello"),
    "429": plain("429 Too Many Requests", b"hello", ("Retry-After", "1")),
    "two cookies": plain("200 OK", b"hello", ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")),
    "hop by hop": plain("200 OK", b"hello", ("Connection", "close"), ("Keep-Alive", "timeout=1")),
    "parts": in_parts,
    "no length": of_no_length,
    "longer than it says": too_long,
    "no part": nothing,
    "late": late,
    "by write": by_write,
}


@pytest.mark.parametrize("name", ANSWERS)
def test_the_same_again_is_answered_as_gunicorn_answers_it(name: str) -> None:
    app = Noting(ANSWERS[name])

    first = undated(*BlockingWorker(Noting(ANSWERS[name])).converse(REQUEST))
    writes = BlockingWorker(app).converse(REQUEST, REQUEST, REQUEST)

    assert app.again == [False, True, True]
    assert first.startswith(b"HTTP/1.1 ")
    assert undated(*writes) == first * 3


def test_answers_that_follow_each_other_have_their_own_lengths_and_headers() -> None:
    bodies = [b"a", b"bb", b"a", b"ccc"]
    left = iter(bodies)

    def app(start: Start) -> Iterable[bytes]:
        body = next(left)
        return plain("200 OK", body, ("X-Body", body.decode()))(start)

    writes = BlockingWorker(Noting(app)).converse(*[REQUEST] * 4)

    _head, _body, *again = writes
    assert [write.partition(b"\r\n\r\n")[2] for write in again] == bodies[1:]
    for write, body in zip(again, bodies[1:], strict=True):
        assert b"\r\nX-Body: " + body + b"\r\n" in write
        assert b"\r\nContent-Length: %d\r\n" % len(body) in write


def test_the_date_is_of_now() -> None:
    writes = BlockingWorker(Noting(ANSWERS["200"])).converse(REQUEST, REQUEST)

    date = writes[-1].partition(b"\r\nDate: ")[2].partition(b"\r\n")[0].decode()
    assert abs(parsedate_to_datetime(date).timestamp() - clock.readings().wall_us / 1e6) < 60
