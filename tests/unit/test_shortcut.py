"""Who has taken a shortcut is asked past all others for the same head again, and only for that."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from app.server.wsgi import answer_socket
from app.server.wsgi.answer_socket import AnswerSocket
from app.server.wsgi.shortcut import KEY
from tests.support.blocking_worker import BlockingWorker, undated

HEAD = b"POST /ours HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\n"
OTHER = HEAD.replace(b"/ours", b"/others")


class Front:
    """Marks every request, and lets the last of it be answered by somebody behind it, who takes what is its own."""

    def __init__(self, answer: Callable[[bytes, Callable[..., Any]], Iterable[bytes]]) -> None:
        self.asked: list[str] = []
        self.environs: list[dict[str, Any]] = []
        self._answer = answer

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        self.asked.append("front")
        environ["front.mark"] = len(self.asked)
        if environ["PATH_INFO"] == "/ours" and KEY in environ:
            environ[KEY].take(self._behind, environ)
        return self._behind(environ, start_response)

    def _behind(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        self.asked.append("behind")
        self.environs.append(dict(environ))
        return self._answer(environ["wsgi.input"].read(), start_response)


def echo(body: bytes, start_response: Callable[..., Any]) -> Iterable[bytes]:
    start_response("200 OK", [("Content-Length", str(len(body)))])
    return [body]


def test_the_same_head_again_goes_to_who_has_taken_it_with_what_was_known_then() -> None:
    app = Front(echo)

    writes = BlockingWorker(app).converse(HEAD + b"one!", HEAD + b"two!", HEAD + b"3...")

    assert app.asked == ["front", "behind", "behind", "behind"]
    assert [write[-4:] for write in writes] == [b"\r\n\r\n", b"one!", b"two!", b"3..."]
    assert [each["front.mark"] for each in app.environs] == [1, 1, 1]
    first, *again = [set(each) for each in app.environs]
    assert again == [first - {"wsgi.early_hints"}] * 2, "hints belong to one response"
    assert [each["wsgi.multithread"] for each in app.environs[1:]] == [True, True], "as of every repeat"


def test_another_head_goes_through_all_and_ends_the_shortcut() -> None:
    app = Front(echo)

    BlockingWorker(app).converse(
        HEAD + b"one!", HEAD + b"two!", OTHER + b"3...", OTHER + b"four", HEAD + b"five"
    )

    of_ours, of_others = ["front", "behind"], ["front", "behind"]
    assert app.asked == [*of_ours, "behind", *of_others, *of_others, *of_ours]
    assert [each["front.mark"] for each in app.environs] == [1, 1, 4, 6, 8]


@pytest.mark.parametrize("status", ["200 OK", "404 Not Found"])
@pytest.mark.parametrize("is_whole", [True, False])
def test_whatever_it_answers_is_written_as_gunicorn_writes_it(status: str, is_whole: bool) -> None:
    def answer(body: bytes, start_response: Callable[..., Any]) -> Iterable[bytes]:
        start_response(status, [("Content-Length", "8")] if is_whole else [])
        return iter([body, body])

    first, *rest = _answers(
        BlockingWorker(Front(answer)).converse(HEAD + b"one!", HEAD + b"two!", HEAD + b"3...")
    )

    assert b"one!" in first
    assert rest == [first.replace(b"one!", b"two!"), first.replace(b"one!", b"3...")]


def _answers(writes: list[bytes]) -> list[bytes]:
    begin = b"HTTP/1.1 "
    return [begin + each for each in undated(*writes).split(begin)[1:]]


def test_a_failure_of_it_is_answered_as_any_failure() -> None:
    def fail(body: bytes, start_response: Callable[..., Any]) -> Iterable[bytes]:
        if body == b"two!":
            raise ValueError("a bug")
        return echo(body, start_response)

    writes = BlockingWorker(Front(fail)).converse(HEAD + b"one!", HEAD + b"two!")

    assert b"".join(writes).count(b"HTTP/1.1 500 ") == 1


def test_what_the_kernel_does_not_take_at_once_goes_when_the_peer_reads() -> None:
    data = bytes(range(256)) * 8_192
    ours, theirs = socket.socketpair()
    received = bytearray()

    def read() -> None:
        while len(received) < len(data):
            received.extend(theirs.recv(65_536))

    with ours, theirs:
        ours.setblocking(False)  # As those of green threads are underneath.
        reader = threading.Thread(target=read)
        reader.start()
        AnswerSocket(ours).sendall(data)
        reader.join()

    assert bytes(received) == data


def test_a_peer_that_takes_nothing_is_waited_for_no_longer_than_for_any(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(answer_socket, "SEND_IDLE_S", 0.05)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)

        with pytest.raises(TimeoutError):
            AnswerSocket(ours).sendall(bytes(1 << 24))


def test_a_peer_that_has_gone_is_an_error() -> None:
    ours, theirs = socket.socketpair()
    theirs.close()
    with ours, pytest.raises(OSError, match=r"[Bb]roken pipe"):
        AnswerSocket(ours).sendall(b"x")
