"""Repeated requests in the worker's request loop: the door, the others' turns, the time to write, the drain."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from app import clock
from app.server.wsgi.answer_socket import SEND_IDLE_S
from app.server.wsgi.connection_limiter import ConnectionLimiter
from app.server.wsgi.worker import FIRST_REQUEST_S
from app.server.wsgi.yield_timer import ALONE_US_MAX
from tests.support.blocking_worker import REQUEST, BlockingWorker, Noting, Start, undated

OTHER = REQUEST.replace(b"localhost", b"localhost:80")
CLOSES = b"\r\nConnection: close\r\n"


def fine(start: Start) -> list[bytes]:
    start("200 OK", [("Content-Length", "5")])
    return [b"hello"]


def strict_door() -> ConnectionLimiter:
    """One request in eight seconds, three at once, on a day on which no time passes."""
    return ConnectionLimiter(
        count_max=10, per_address_max=1, is_exempt=lambda address: False, now_us=lambda: 1_000_000
    )


@pytest.mark.parametrize(
    "requests",
    [
        [REQUEST] * 5,
        [REQUEST, OTHER] * 2 + [REQUEST],
        [REQUEST, REQUEST[:30], REQUEST[30:], REQUEST, REQUEST[:-2], REQUEST[-2:], REQUEST],
        [REQUEST.replace(b"POST", b"GET")] * 5,
    ],
    ids=["the same", "by turns", "in pieces", "never repeated"],
)
def test_the_door_counts_each_request_once_whichever_way_it_goes(requests: list[bytes]) -> None:
    worker = BlockingWorker(Noting(fine))
    worker.door = strict_door()

    writes = worker.converse(*requests)

    assert b"".join(writes).count(b"HTTP/1.1 200 OK\r\n") == 5
    assert worker.pauses_s == [4.0, 12.0, 20.0]  # Before the fourth, the fifth, and the end.
    assert not worker.door.idle_sockets()


def test_a_connection_is_waited_for_once_for_each_of_its_requests_and_for_its_end() -> None:
    worker = BlockingWorker(Noting(fine), keepalive=75)

    worker.converse(*[REQUEST] * 3)

    assert worker.limits_s == [FIRST_REQUEST_S, 75, 75, 75]


def test_others_have_their_turn_between_repeats_that_are_there_already() -> None:
    app = Noting(fine)
    worker = BlockingWorker(app)
    answered: list[int] = []
    worker.on_give_way = lambda: answered.append(len(app.again))

    worker.converse(*[REQUEST] * 4)

    assert app.again == [False, True, True, True]
    assert {1, 2, 3} <= set(answered)


def test_a_client_that_takes_nothing_of_an_answer_has_as_long_for_a_repeated_one() -> None:
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


def test_a_drain_amid_a_repeat_lets_it_end_and_its_connection_with_it() -> None:
    def leave(start: Start) -> list[bytes]:
        worker.alive = len(app.again) < 2
        return fine(start)

    app = Noting(leave)
    worker = BlockingWorker(app)

    writes = worker.converse(*[REQUEST] * 4)

    assert app.again == [False, True]
    assert b"".join(writes).count(b"hello") == 2


def test_what_comes_after_a_drain_began_is_answered_as_the_last_of_its_connection() -> None:
    """While the others have their turn, which is where the worker hears of it."""
    app = Noting(fine)
    worker = BlockingWorker(app)

    def leave() -> None:
        worker.alive = len(app.again) < 2

    worker.on_give_way = leave

    *again, head, _body = worker.converse(*[REQUEST] * 4)

    assert app.again == [False, True, False]
    assert CLOSES in head
    assert CLOSES not in undated(*again)


def test_without_keep_alive_nothing_is_repeated() -> None:
    app = Noting(fine)

    head, _body = BlockingWorker(app, keepalive=0).converse(REQUEST, REQUEST)

    assert app.again == [False]
    assert CLOSES in head


class Writing(Noting):
    """An application that has something to write between two requests, in `pieces`."""

    def __init__(self, pieces: int) -> None:
        super().__init__(fine)
        self.pieces = pieces
        self.left: list[int] = []
        """Of them, when each request came."""
        self.on_piece: Callable[[], object] = lambda: None

    def __call__(self, environ: dict[str, Any], start: Start) -> Iterable[bytes]:
        self.left.append(self.pieces)
        return super().__call__(environ, start)

    def go_on(self, is_enough: Callable[[], bool]) -> bool:
        while True:
            self.pieces -= 1
            self.on_piece()
            if self.pieces <= 0:
                return False
            if is_enough():
                return True


def test_a_wait_for_the_same_again_is_used_for_writing_until_nothing_is_left() -> None:
    app = Writing(3)

    BlockingWorker(app).converse(REQUEST)

    assert app.pieces == 0


def test_who_asks_again_is_heard_before_the_next_piece_is_written() -> None:
    app = Writing(9)

    def ask_amid_the_writing(theirs: socket.socket) -> None:
        def ask() -> None:
            app.on_piece = lambda: None
            theirs.send(REQUEST)
            theirs.shutdown(socket.SHUT_WR)

        app.on_piece = ask

    BlockingWorker(app).converse(REQUEST, then=ask_amid_the_writing)

    assert app.left == [9, 8]


def asking_amid_the_writing(app: Writing, times: int) -> Callable[[socket.socket], None]:
    """Ask again whenever a piece has been written, `times` in all."""

    def begin(theirs: socket.socket) -> None:
        def ask() -> None:
            theirs.send(REQUEST)
            if len(app.left) == times:
                app.on_piece = lambda: None
                theirs.shutdown(socket.SHUT_WR)

        app.on_piece = ask

    return begin


def test_for_a_repeat_that_has_come_meanwhile_no_time_is_limited() -> None:
    app = Writing(9)
    worker = BlockingWorker(app, keepalive=75)

    worker.converse(REQUEST, then=asking_amid_the_writing(app, 3))

    assert app.again == [False, True, True, True]
    assert worker.limits_s == [FIRST_REQUEST_S, 75], "before the first one, and for the end"


def test_the_door_counts_a_repeat_that_has_come_meanwhile() -> None:
    app = Writing(9)
    worker = BlockingWorker(app)
    worker.door = strict_door()

    worker.converse(REQUEST, then=asking_amid_the_writing(app, 4))

    assert app.again == [False, True, True, True, True]
    assert worker.pauses_s == [4.0, 12.0, 20.0]


def test_others_have_their_turn_when_it_is_due_before_a_repeat_that_has_come_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now_us = 10**9
    monkeypatch.setattr(clock, "monotonic_us", lambda: now_us)
    app = Writing(9)
    worker = BlockingWorker(app)
    given: list[int] = []
    worker.on_give_way = lambda: given.append(len(app.left))

    def ask_late(theirs: socket.socket) -> None:
        def ask() -> None:
            nonlocal now_us
            now_us += ALONE_US_MAX
            asking_amid_the_writing(app, 1)(theirs)
            app.on_piece()

        app.on_piece = ask

    worker.converse(REQUEST, then=ask_late)

    assert app.left == [9, 8]
    assert 1 in given


def test_a_drain_amid_the_writing_ends_a_connection_that_does_not_ask(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now_us = 10**9
    monkeypatch.setattr(clock, "monotonic_us", lambda: now_us)
    app = Writing(3)
    worker = BlockingWorker(app, keepalive=75)
    ended_by_client: list[bool] = []

    def pass_the_time() -> None:
        nonlocal now_us
        now_us += ALONE_US_MAX

    def leave() -> None:
        worker.alive = app.pieces > 2

    def end_much_later(theirs: socket.socket) -> None:
        def end() -> None:
            ended_by_client.append(True)
            theirs.shutdown(socket.SHUT_WR)

        later.append(threading.Timer(5, end))
        later[0].start()

    later: list[threading.Timer] = []
    app.on_piece, worker.on_give_way = pass_the_time, leave

    worker.converse(REQUEST, then=end_much_later)

    later[0].cancel()
    later[0].join()
    assert app.again == [False]
    assert ended_by_client == []


def test_an_application_has_nothing_to_write_unless_it_says_so() -> None:
    app = Noting(fine)

    BlockingWorker(app).converse(REQUEST, REQUEST)

    assert app.again == [False, True]


def test_others_wait_no_longer_for_their_turn_while_it_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    now_us = 10**9
    monkeypatch.setattr(clock, "monotonic_us", lambda: now_us)
    app = Writing(20)
    worker = BlockingWorker(app)
    given: list[int] = []
    worker.on_give_way = lambda: given.append(app.pieces)

    def pass_a_millisecond() -> None:
        nonlocal now_us
        now_us += 1_000

    app.on_piece = pass_a_millisecond

    worker.converse(REQUEST)

    between_us = 1_000 * (20 - given[1]), 1_000 * (given[1] - given[2])
    assert given[0] == 20, "before the first request"
    assert between_us == (ALONE_US_MAX, ALONE_US_MAX)
    assert app.pieces == 0, "and then it goes on"
