"""What becomes of a repeated request whose application fails: what gunicorn makes of any other."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterable, Iterator

import pytest

from tests.support.blocking_worker import REQUEST, BlockingWorker, Noting, Start, undated


def fine(start: Start) -> Iterable[bytes]:
    start("200 OK", [("Content-Length", "5")])
    return [b"hello"]


def breaking_before(start: Start) -> Iterable[bytes]:
    raise RuntimeError("before")


def breaking_once_started(start: Start) -> Iterable[bytes]:
    start("200 OK", [("Content-Length", "5")])
    raise RuntimeError("after the head was said, and before it was written")


def exiting(start: Start) -> Iterable[bytes]:
    raise SystemExit(1)


def with_a_bad_header(start: Start) -> Iterable[bytes]:
    start("200 OK", [("X-Split", "a\r\nSet-Cookie: b"), ("Content-Length", "5")])
    return [b"hello"]


def starting_twice(start: Start) -> Iterable[bytes]:
    start("200 OK", [("Content-Length", "0")])
    start("201 Created", [("Content-Length", "5")])
    return [b"hello"]


BEFORE = [breaking_before, breaking_once_started, exiting, with_a_bad_header, starting_twice]


def second(app: Callable[[Start], Iterable[bytes]]) -> Noting:
    """An application that does so when it is asked again, and before that is well."""
    calls: list[None] = []

    def answer(start: Start) -> Iterable[bytes]:
        calls.append(None)
        return fine(start) if len(calls) == 1 else app(start)

    return Noting(answer)


@pytest.mark.parametrize("app", BEFORE)
def test_an_application_that_fails_before_its_head_is_answered_for_by_a_500(
    app: Callable[[Start], Iterable[bytes]],
) -> None:
    asked = second(app)

    writes = BlockingWorker(asked).converse(REQUEST, REQUEST, REQUEST)

    assert asked.again == [False, True]
    _first, _body, *again = writes
    assert b"".join(again).startswith(b"HTTP/1.1 500 Internal Server Error\r\nConnection: close\r\n")
    assert undated(*again) == undated(*BlockingWorker(Noting(app)).converse(REQUEST))


class Part:
    """An answer of two parts that fails where it is told to."""

    def __init__(self, at: str, error: BaseException) -> None:
        self._at = at
        self._error = error
        self.closed = 0

    def __call__(self, start: Start) -> Iterable[bytes]:
        start("200 OK", [("Content-Length", "6")])
        return self

    def __iter__(self) -> Iterator[bytes]:
        yield b"one"
        if self._at == "part":
            raise self._error
        yield b"two"

    def close(self) -> None:
        self.closed += 1
        if self._at == "close":
            raise self._error


@pytest.mark.parametrize("error", [RuntimeError("amid it"), SystemExit(1), OSError("amid it")], ids=repr)
@pytest.mark.parametrize(("at", "written"), [("part", b"one"), ("close", b"onetwo")])
def test_an_answer_that_fails_amid_it_ends_its_connection_and_nothing_is_written_into_it(
    at: str, written: bytes, error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    parts = Part(at, error)
    asked = second(parts)

    with caplog.at_level(logging.ERROR, "siar.repeats"):
        _head, _body, *again = BlockingWorker(asked).converse(REQUEST, REQUEST, REQUEST)

    assert asked.again == [False, True]
    assert b"".join(again).endswith(b"\r\n\r\n" + written)
    assert b"".join(again).count(b"HTTP/1.1 ") == 1
    assert parts.closed == 1
    assert ("An answer broke off" in caplog.text) == (not isinstance(error, OSError))


def test_an_answer_is_closed_once_it_is_written() -> None:
    parts = Part("never", RuntimeError())

    writes = BlockingWorker(second(parts)).converse(REQUEST, REQUEST, REQUEST)

    assert b"".join(writes).count(b"onetwo") == 2
    assert parts.closed == 2


def test_an_answer_that_turned_out_to_be_an_error_is_that_error_alone() -> None:
    """PEP 3333: with `exc_info`, and nothing written yet, the head that was said is replaced."""

    def app(start: Start) -> Iterable[bytes]:
        start("200 OK", [("X-Of-The-First", "yes"), ("Content-Length", "9")])
        try:
            raise RuntimeError("amid it")
        except RuntimeError:
            start("503 Service Unavailable", [("Content-Length", "5")], sys.exc_info())
        return [b"later"]

    *_first, head, body = BlockingWorker(second(app)).converse(REQUEST, REQUEST)

    assert head.startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
    assert b"X-Of-The-First" not in head
    assert body == b"later"


def test_an_error_that_comes_too_late_to_be_said_ends_the_connection() -> None:
    """PEP 3333: with `exc_info`, and the head written, it is raised again."""

    def app(start: Start) -> Iterator[bytes]:
        start("200 OK", [("Content-Length", "6")])
        yield b"one"
        try:
            raise RuntimeError("amid it")
        except RuntimeError:
            start("500 Oh", [("Content-Length", "2")], sys.exc_info())
        yield b"oh"

    writes = BlockingWorker(second(app)).converse(REQUEST, REQUEST, REQUEST)

    assert writes[-1] == b"one"
