"""A program that publishes repeatedly on one connection, as bytes on a socket."""

from __future__ import annotations

import contextlib
import http.client
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.patience import PATIENCE_S
from tests.support.republishing import asking, publish, talking
from tests.support.server import RunningServer, ServerSettings, running_server
from tests.support.streams import sse

BODY_BYTES_MAX = 2048

WORKERS = ("eventlet", "gevent")


@pytest.fixture(scope="module", params=WORKERS)
def server(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[RunningServer]:
    folder = tmp_path_factory.mktemp("publishing")
    options: ServerSettings = {"publish_body_bytes_max": BODY_BYTES_MAX, "green_threads": request.param}
    with running_server(folder, recorder=0, **options) as running:
        yield running
        assert "Traceback" not in running.log(), running.log()


def test_each_of_many_publishes_gets_one_position_and_its_own_body(server: RunningServer) -> None:
    titles = [f"number {number:03}" for number in range(200)]

    with sse(server.port) as stream, talking(server.port) as talk:
        answers = [talk.ask(asking(publish(title))) for title in titles]
        received = [stream.next_notification() for _ in titles]

    assert {status for status, _answer in answers} == {201}
    first = answers[0][1]["offset"]
    assert [answer["offset"] for _status, answer in answers] == list(range(first, first + 200))
    assert [(each["id"], each["title"]) for each in received] == [
        (answer["id"], title) for (_status, answer), title in zip(answers, titles, strict=True)
    ]


def test_the_standard_librarys_client_is_answered_whichever_way_its_two_writes_come(
    server: RunningServer,
) -> None:
    """It writes head and body separately: they may arrive in one read or in two."""
    link = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S)
    headers = {"Authorization": f"Bearer {server.admin_token}", "Content-Type": "application/json"}
    titles = [f"number {number:03}" for number in range(100)]
    offsets, received = [], []
    with contextlib.closing(link), sse(server.port) as stream:
        for title in titles:
            link.request("POST", "/api/notifications", publish(title), headers)
            answer = link.getresponse()
            assert answer.status == 201
            offsets.append(json.loads(answer.read())["offset"])
            received.append(stream.next_notification()["title"])

    assert received == titles
    assert offsets == list(range(offsets[0], offsets[0] + 100))


def test_a_key_that_comes_again_publishes_nothing(server: RunningServer) -> None:
    bodies = [publish("t", idempotency_key=key) for key in ("key 1", "key 2", "key 2", "key 1")]

    with talking(server.port) as talk:
        answers = [talk.ask(asking(body)) for body in bodies]

    assert [status for status, _answer in answers] == [201, 201, 200, 200]
    first, second, second_again, first_again = (answer["offset"] for _status, answer in answers)
    assert (first_again, second_again) == (first, second) == (first, first + 1)


def test_a_body_that_says_nothing_of_use_is_refused_and_the_next_one_taken(server: RunningServer) -> None:
    good = publish("t")
    bad = [b"x" * len(good), good.replace(b"title", b"tilte"), good.replace(b'"t"', b"123")]

    with talking(server.port) as talk:
        statuses = [talk.ask(asking(body))[0] for body in (good, *bad, good)]

    assert statuses == [201, 400, 400, 400, 201]


def test_a_body_that_is_too_long_is_refused_each_time_and_the_next_one_taken(server: RunningServer) -> None:
    long = publish("t" * BODY_BYTES_MAX)

    with talking(server.port) as talk:
        statuses = [talk.ask(asking(body))[0] for body in (long, long, long, publish("t"), publish("u"))]

    assert statuses == [413, 413, 413, 201, 201]


def test_a_wrong_token_is_refused_each_time_and_a_right_one_taken_after_it(server: RunningServer) -> None:
    right = asking(publish("t"))
    wrong = right.replace(server.admin_token.encode(), b"x" * len(server.admin_token))

    with talking(server.port) as talk:
        statuses = [talk.ask(data)[0] for data in (right, right, wrong, wrong, right, right)]

    assert statuses == [201, 201, 401, 401, 201, 201]


@pytest.mark.parametrize("cut", [1, 40, -20, -1])
def test_a_request_in_two_pieces_is_one_request(server: RunningServer, cut: int) -> None:
    data = asking(publish("t"))

    with talking(server.port) as talk:
        offsets = [talk.ask(data)[1]["offset"] for _ in range(2)]
        talk.sock.sendall(data[:cut])
        assert server.request("GET", "/healthz")[0] == 200  # By then it has read the first piece.
        offsets += [talk.ask(data[cut:])[1]["offset"], talk.ask(data)[1]["offset"]]

    assert offsets == list(range(offsets[0], offsets[0] + 4))


def test_requests_that_come_at_once_are_answered_in_order(server: RunningServer) -> None:
    titles = [f"number {number:03}" for number in range(20)]

    with sse(server.port) as stream, talking(server.port) as talk:
        talk.sock.sendall(b"".join(asking(publish(title)) for title in titles))
        answers = [talk.answer() for _ in titles]
        received = [stream.next_notification() for _ in titles]

    assert [status for status, _answer in answers] == [201] * 20
    assert [each["title"] for each in received] == titles
    assert [each["id"] for each in received] == [answer["id"] for _status, answer in answers]


@pytest.mark.parametrize("worker", WORKERS)
def test_a_publisher_that_is_too_fast_is_told_so_and_taken_again_later(tmp_path: Path, worker: str) -> None:
    data = asking(publish("t"))
    statuses: list[int] = []
    options: ServerSettings = {"publish_per_s_max": 5, "green_threads": worker}
    with (
        running_server(tmp_path, recorder=0, **options) as server,
        talking(server.port) as talk,
    ):
        while 429 not in statuses or statuses[-1] == 429:
            statuses.append(talk.ask(data)[0])

    assert statuses[0] == statuses[-1] == 201
    assert set(statuses) == {201, 429}


@pytest.mark.parametrize("worker", WORKERS)
def test_a_drain_does_not_wait_for_a_publisher_that_says_nothing(tmp_path: Path, worker: str) -> None:
    data = asking(publish("t"))
    options: ServerSettings = {"green_threads": worker}
    with (
        running_server(tmp_path, recorder=0, **options) as server,
        talking(server.port) as talk,
    ):
        assert [talk.ask(data)[0] for _ in range(3)] == [201] * 3

        server.process.terminate()

        assert talk.is_over()
        assert server.process.wait(PATIENCE_S) == 0
        assert "did not end in time" not in server.log()
        assert "Traceback" not in server.log()


def test_a_key_in_the_header_publishes_once(server: RunningServer) -> None:
    keys = ["header 1", "header 1", "header 2", "header 1"]

    with talking(server.port) as talk:
        answers = [talk.ask(asking(publish("t"), f'Idempotency-Key: "{key}"')) for key in keys]

    assert [status for status, _answer in answers] == [201, 200, 201, 200]
    first = answers[0][1]["offset"]
    assert [answer["offset"] for _status, answer in answers] == [first, first, first + 1, first]
