"""The worker's request loop: connection limiter, fairness between connections, write timeout, drain."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from app.server.wsgi.connection_limiter import ConnectionLimiter
from app.server.wsgi.detached import DETACHED
from app.server.wsgi.worker import FIRST_REQUEST_S, SEND_IDLE_S
from tests.support.blocking_worker import REQUEST, BlockingWorker, Noting, Start, undated

OTHER = REQUEST.replace(b"localhost", b"localhost:80")
CLOSES = b"\r\nConnection: close\r\n"
OK = b"HTTP/1.1 200 OK\r\n"


def fine(start: Start) -> list[bytes]:
    start("200 OK", [("Content-Length", "5")])
    return [b"hello"]


def strict_limiter() -> ConnectionLimiter:
    """Return a limiter with a stopped clock that allows one request in eight seconds and bursts of three."""
    return ConnectionLimiter(
        count_max=10, per_address_max=1, is_exempt=lambda address: False, now_us=lambda: 1_000_000
    )


@pytest.mark.parametrize(
    "requests",
    [
        [REQUEST] * 5,
        [REQUEST, OTHER] * 2 + [REQUEST],
        [REQUEST, REQUEST[:30], REQUEST[30:], REQUEST, REQUEST[:-2], REQUEST[-2:], REQUEST],
        [REQUEST + REQUEST, REQUEST[:70], REQUEST[70:] + REQUEST, REQUEST],
        [REQUEST.replace(b"POST", b"GET")] * 5,
    ],
    ids=["the same", "by turns", "in pieces", "two at once", "GET"],
)
def test_each_request_is_counted_and_answered_once_however_it_is_cut_into_reads(
    requests: list[bytes],
) -> None:
    app = Noting(fine)
    worker = BlockingWorker(app)
    worker.limiter = strict_limiter()

    writes = worker.converse(*requests)

    assert app.bodies == [b"body"] * 5
    assert b"".join(writes).count(OK) == 5
    assert worker.pauses_s == [4.0, 12.0, 20.0]  # Before the fourth, the fifth, and the end.
    assert not worker.limiter.idle_sockets()


def test_a_connection_has_one_wait_per_request_and_one_for_its_end() -> None:
    worker = BlockingWorker(Noting(fine), keepalive=75)

    worker.converse(*[REQUEST] * 3)

    assert worker.limits_s == [FIRST_REQUEST_S, 75, 75, 75]


def test_pipelined_requests_yield_between_them() -> None:
    app = Noting(fine)
    worker = BlockingWorker(app)
    answered: list[int] = []
    worker.on_yield_now = lambda: answered.append(len(app.bodies))

    worker.converse(*[REQUEST] * 4)

    assert {0, 1, 2, 3} <= set(answered)


def test_each_response_has_the_same_write_timeout() -> None:
    timeouts: list[Any] = []

    def app(environ: dict[str, Any], start: Start) -> list[bytes]:
        environ["wsgi.input"].read()
        timeouts.append(environ["gunicorn.socket"].gettimeout())
        if len(timeouts) == 3:
            raise TimeoutError
        return fine(start)

    writes = BlockingWorker(app).converse(*[REQUEST] * 4)

    assert timeouts == [SEND_IDLE_S] * 3
    assert b"".join(writes).count(b"HTTP/1.1 ") == 2


def test_a_drain_during_a_request_finishes_it_and_closes_its_connection() -> None:
    def leave(start: Start) -> list[bytes]:
        worker.alive = len(app.bodies) < 2
        return fine(start)

    app = Noting(leave)
    worker = BlockingWorker(app)

    writes = worker.converse(*[REQUEST] * 4)

    assert len(app.bodies) == 2
    assert b"".join(writes).count(b"hello") == 2


def test_a_request_after_a_drain_began_is_the_last_of_its_connection() -> None:
    """The drain begins while the worker yields to other connections."""
    app = Noting(fine)
    worker = BlockingWorker(app)

    def leave() -> None:
        worker.alive = len(app.bodies) < 2

    worker.on_yield_now = leave

    *before, head, _body = worker.converse(*[REQUEST] * 4)

    assert len(app.bodies) == 3
    assert CLOSES in head
    assert CLOSES not in undated(*before)


def test_without_keep_alive_a_connection_has_one_request() -> None:
    app = Noting(fine)

    head, _body = BlockingWorker(app, keepalive=0).converse(REQUEST, REQUEST)

    assert len(app.bodies) == 1
    assert CLOSES in head


def test_a_connection_that_is_taken_over_is_not_closed() -> None:
    answers: list[Any] = [None, DETACHED]

    def app(environ: dict[str, Any], start: Start) -> Any:
        environ["wsgi.input"].read()
        start("200 OK", [("Content-Length", "2")])
        return answers.pop(0) or [b"ok"]

    writes = BlockingWorker(app).converse(*[REQUEST] * 3)

    assert b"".join(writes).count(OK) == 1
    assert answers == []


def breaking_before(start: Start) -> Iterable[bytes]:
    raise RuntimeError("before")


def breaking_once_started(start: Start) -> Iterable[bytes]:
    start("200 OK", [("Content-Length", "5")])
    raise RuntimeError("after the head was said, and before it was written")


def with_a_bad_header(start: Start) -> Iterable[bytes]:
    start("200 OK", [("X-Split", "a\r\nSet-Cookie: b"), ("Content-Length", "5")])
    return [b"hello"]


def second(app: Callable[[Start], Iterable[bytes]]) -> Noting:
    """Return an application that answers its second request with `app`, and the others with a good response."""

    def answer(start: Start) -> Iterable[bytes]:
        return app(start) if len(noting.bodies) == 2 else fine(start)

    noting = Noting(answer)
    return noting


@pytest.mark.parametrize("app", [breaking_before, breaking_once_started, with_a_bad_header])
def test_an_application_that_fails_before_its_head_gets_a_500(
    app: Callable[[Start], Iterable[bytes]],
) -> None:
    asked = second(app)

    *_first, failed = BlockingWorker(asked).converse(*[REQUEST] * 3)

    assert len(asked.bodies) == 2
    assert failed.startswith(b"HTTP/1.1 500 Internal Server Error\r\n")
    assert b"\r\nConnection: close\r\n" in failed
    assert b"application/problem+json" in failed


def test_a_response_that_fails_midway_closes_its_connection_and_gets_no_error_text() -> None:
    def breaking_amid(start: Start) -> Iterator[bytes]:
        start("200 OK", [("Content-Length", "6")])
        yield b"one"
        raise RuntimeError("amid it")

    asked = second(breaking_amid)

    writes = BlockingWorker(asked).converse(*[REQUEST] * 3)

    assert len(asked.bodies) == 2
    assert writes[-1] == b"one"
    assert b"".join(writes).count(b"HTTP/1.1 ") == 2
