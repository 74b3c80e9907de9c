"""Several servers, and several processes of one server, on one Redis: what a client sees of it."""

from __future__ import annotations

import contextlib
import http.client
import json
import math
import re
import signal
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from app.lab.measure.cpu import CpuSampler
from app.server.broker.redis.link import PATIENCE_S
from tests.support.followers import Publisher, following, wait_for
from tests.support.redis_server import RedisServer, redis_server
from tests.support.server import RunningServer, ServerSettings, free_port, running_server
from tests.support.streams import socketio, sse

TRANSPORTS = ("sse", "socketio")


@contextlib.contextmanager
def two_servers(
    tmp_path: Path, redis: RedisServer, **settings: Any
) -> Iterator[tuple[RunningServer, RunningServer]]:
    options = {"broker": redis.url, "recorder": 0, **settings}
    with running_server(tmp_path, **options) as one, running_server(tmp_path, **options) as other:
        yield one, other


@contextlib.contextmanager
def workers(tmp_path: Path, redis: RedisServer, count: int, **settings: Any) -> Iterator[RunningServer]:
    with running_server(tmp_path, broker=redis.url, workers=count, recorder=0, **settings) as server:
        wait_for(lambda: len(worker_pids(server)) == count, server.log)
        wait_for(lambda: number(server, "siar_processes") == count, server.log)  # And all of them serve.
        yield server


def worker_pids(server: RunningServer) -> list[int]:
    """Of those that listen with the master."""
    found = []
    for process in psutil.Process(server.process.pid).children():
        with contextlib.suppress(psutil.Error):
            if any(each.laddr.port == server.port for each in process.net_connections("tcp")):
                found.append(process.pid)
    return sorted(found)


def number(server: RunningServer, name: str) -> float:
    """A metric, all its labels together; not a number when the process that was asked has just been killed."""
    try:
        _status, text = server.request("GET", "/metrics")
    except (OSError, http.client.HTTPException):
        return math.nan
    return sum(
        float(value) for value in re.findall(rf"^{name}(?:_total)?(?:{{.*}})? (\S+)$", text, re.MULTILINE)
    )


@pytest.mark.slow
def test_subscribers_of_two_servers_get_one_order_over_both_transports(tmp_path: Path) -> None:
    with (
        redis_server(tmp_path / "redis") as redis,
        two_servers(tmp_path, redis) as (one, other),
        following(one.port, TRANSPORTS) as of_one,
        following(other.port, TRANSPORTS) as of_other,
    ):
        publishers = [Publisher(server, 40, keys=name) for server, name in ((one, "a"), (other, "b"))]
        for publisher in publishers:
            publisher.start()
        followers = [*of_one, *of_other]
        wait_for(lambda: all(len(each.titles) == 80 for each in followers), one.log)

    orders = [each.titles for each in followers]
    assert orders == [orders[0]] * 4
    offsets = [answer["offset"] for publisher in publishers for answer in publisher.answered]
    assert sorted(offsets) == list(range(1, 81))
    assert not any(each.gaps for each in followers)


@pytest.mark.slow
def test_a_client_resumes_on_another_server_by_either_transport(tmp_path: Path) -> None:
    with redis_server(tmp_path / "redis") as redis, two_servers(tmp_path, redis) as (one, other):
        left_at = one.publish("seen")["id"]
        for title in ("a", "b"):
            one.publish(title)
        wait_for(lambda: other.request("GET", "/api/notifications")[1]["notifications"][2:], other.log)

        with (
            sse(other.port, headers={"Last-Event-ID": left_at}) as stream,
            socketio(other.port, {"last_event_id": left_at}) as channel,
        ):
            by_sse = [stream.next_notification()["title"] for _ in range(2)]
            by_socketio = [channel.next_notification()["title"] for _ in range(2)]

    assert by_sse == by_socketio == ["a", "b"]


@pytest.mark.slow
@pytest.mark.parametrize("fanout", ["direct", "stock"])
@pytest.mark.parametrize("green_threads", ["eventlet", "gevent"])
def test_while_redis_is_away_publishers_get_503_and_subscribers_stay_and_are_told(
    tmp_path: Path, fanout: str, green_threads: str
) -> None:
    settings: ServerSettings = {"recorder": 0, "fanout": fanout, "green_threads": green_threads}
    with (
        redis_server(tmp_path / "redis") as redis,
        running_server(tmp_path, broker=redis.url, **settings) as server,
        following(server.port, TRANSPORTS) as followers,
    ):
        server.publish("before")
        redis.kill()
        wait_for(lambda: all(each.states == ["away"] for each in followers), server.log)
        status, problem = server.request("POST", "/api/notifications", {"title": "t", "body": ""})
        _status, listed = server.request("GET", "/api/notifications")
        redis.start()
        wait_for(lambda: all(each.states == ["away", "back"] for each in followers), server.log)
        after = server.publish("after")
        wait_for(lambda: all(len(each.titles) == 2 for each in followers), server.log)

    assert status == 503
    assert "idempotency_key" in problem["detail"]
    assert [each["title"] for each in listed["notifications"]] == ["before"]
    assert after["offset"] == 2
    assert [each.titles for each in followers] == [["before", "after"]] * 2
    assert [each.connections for each in followers] == [1, 1], "nobody had to come back"


@pytest.mark.nightly
@pytest.mark.alone  # It measures how long requests wait beside one that waits for Redis.
def test_a_redis_that_says_nothing_holds_up_nobody_but_who_publishes(tmp_path: Path) -> None:
    """Stopped, not killed: no reset, no end of file. Other requests are answered meanwhile."""
    with (
        redis_server(tmp_path / "redis") as redis,
        running_server(tmp_path, broker=redis.url, recorder=0) as server,
        following(server.port, TRANSPORTS) as followers,
    ):
        server.publish("before")
        assert redis.process is not None
        redis.process.send_signal(signal.SIGSTOP)
        publisher = Publisher(server, 1)
        publisher.start()
        waits_s = []
        while not all(each.states for each in followers):
            asked_s = time.monotonic()
            assert server.request("GET", "/healthz")[0] == 200
            waits_s.append(time.monotonic() - asked_s)
        status, _ = server.request("POST", "/api/notifications", {"title": "t", "body": ""})
        redis.process.send_signal(signal.SIGCONT)
        wait_for(publisher.has_answers(1), server.log)
        wait_for(lambda: all(len(each.titles) == 2 for each in followers), server.log)

    assert status == 503
    assert max(waits_s) < 0.5 * PATIENCE_S, "while one waited for Redis, the others were served"
    assert [each.titles for each in followers] == [["before", "0"]] * 2, (
        "published once, however often it was tried"
    )


@pytest.mark.slow
def test_once_redis_is_known_to_be_away_no_publisher_waits_for_it_again(tmp_path: Path) -> None:
    """503 at once: the first who asks a Redis that says nothing finds it out for all others."""
    refused = 40
    with (
        redis_server(tmp_path / "redis") as redis,
        running_server(tmp_path, broker=redis.url, recorder=0) as server,
    ):
        server.publish("before")
        assert redis.process is not None
        redis.process.send_signal(signal.SIGSTOP)
        server.request("POST", "/api/notifications", {"title": "waits", "body": ""})
        begun_s = time.monotonic()
        answers = [
            server.request("POST", "/api/notifications", {"title": "t", "body": ""}) for _ in range(refused)
        ]
        took_s = time.monotonic() - begun_s
        redis.process.send_signal(signal.SIGCONT)

    assert {status for status, _problem in answers} == {503}
    assert took_s < 0.5 * refused * PATIENCE_S, "each would have waited for so long"


def test_workers_share_a_port_an_order_and_their_counters(tmp_path: Path) -> None:
    with (
        redis_server(tmp_path / "redis") as redis,
        workers(tmp_path, redis, 2) as server,
        following(server.port, TRANSPORTS * 2) as followers,
    ):
        for index in range(20):
            server.publish(str(index))
        wait_for(lambda: all(len(each.titles) == 20 for each in followers), server.log)
        # Counted as delivered are live ones; what a client is sent when it has come back is replayed.
        wait_for(
            lambda: (
                number(server, "siar_deliveries") == 80 or any(each.connections > 1 for each in followers)
            ),
            server.log,
        )
        connections, processes = number(server, "siar_connections"), number(server, "siar_processes")
        published = number(server, "siar_notifications")

    assert [each.titles for each in followers] == [[str(index) for index in range(20)]] * 4
    assert (connections, processes, published) == (4, 2, 20)


@pytest.mark.slow
def test_a_worker_that_is_killed_loses_nobody_anything_and_no_counter_goes_back(tmp_path: Path) -> None:
    with (
        redis_server(tmp_path / "redis") as redis,
        workers(tmp_path, redis, 2) as server,
        following(server.port, TRANSPORTS * 4) as followers,
    ):
        publisher = Publisher(server, 300)
        publisher.start()
        wait_for(publisher.has_answers(100), server.log)
        wait_for(lambda: number(server, "siar_deliveries") >= 600, server.log)
        before = number(server, "siar_deliveries")
        psutil.Process(worker_pids(server)[0]).kill()
        wait_for(lambda: len(publisher.answered) == 300, server.log)
        wait_for(lambda: all(len(each.titles) == 300 for each in followers), server.log)
        wait_for(lambda: number(server, "siar_processes") == 2, server.log)
        deliveries = number(server, "siar_deliveries")

    assert [each.titles for each in followers] == [[str(index) for index in range(300)]] * 8
    assert not any(each.gaps for each in followers)
    assert deliveries >= before


@pytest.mark.slow
def test_several_workers_refuse_what_only_one_process_can_remember(tmp_path: Path) -> None:
    with redis_server(tmp_path / "redis") as redis, workers(tmp_path, redis, 2) as server:
        answers = [
            server.request(method, path, {} if method == "POST" else None)
            for method, path in (
                ("GET", "/admin"),
                ("POST", "/api/sessions"),
                ("POST", "/api/trials"),
                ("POST", "/api/runs"),
                ("GET", "/api/room"),
            )
        ]
        polling = urllib.request.Request(f"{server.url}/socket.io/?EIO=4&transport=polling")
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(polling, timeout=10)
        open_to_all = [
            server.request("GET", path)[0] for path in ("/", "/readyz", "/version", "/api/notifications")
        ]

    assert [status for status, _ in answers] == [409] * 5
    assert all(problem["code"] == "one_process_only" for _, problem in answers)
    assert refused.value.code == 400
    assert "websocket" in json.loads(refused.value.read())["message"]
    assert open_to_all == [200] * 4


@pytest.mark.slow
def test_the_cpu_of_all_workers_is_counted(tmp_path: Path) -> None:
    with redis_server(tmp_path / "redis") as redis, workers(tmp_path, redis, 2) as server:
        snapshot = CpuSampler(server.process.pid).snapshot()

        assert {pid for pid, _ in snapshot.processes} == {server.process.pid, *worker_pids(server)}


@pytest.mark.slow
def test_a_server_whose_redis_is_away_does_not_start_and_says_so(tmp_path: Path) -> None:
    nowhere = f"redis://:hunter2@127.0.0.1:{free_port()}"

    with (
        pytest.raises(AssertionError, match="does not answer") as ended,
        running_server(tmp_path, broker=nowhere, recorder=0),
    ):
        pass

    assert "Traceback" not in str(ended.value)
    assert "hunter2" not in str(ended.value)


@pytest.mark.slow
def test_a_worker_that_begins_while_redis_is_away_waits_for_it(tmp_path: Path) -> None:
    with redis_server(tmp_path / "redis") as redis, workers(tmp_path, redis, 2) as server:
        server.publish("before")
        redis.kill()
        victim = worker_pids(server)[0]
        psutil.Process(victim).kill()
        wait_for(lambda: "Waiting for it" in server.log(), server.log)
        status, _ = server.request("GET", "/readyz")
        redis.start()
        wait_for(lambda: number(server, "siar_processes") == 2, server.log)
        wait_for(lambda: publishes(server), server.log)
        titles = [each["title"] for each in server.request("GET", "/api/notifications")[1]["notifications"]]

    assert status == 200, "the other one serves on"
    assert titles[0] == "before"


def publishes(server: RunningServer) -> bool:
    """Whether every process takes a publish again."""
    return all(
        server.request("POST", "/api/notifications", {"title": "t", "body": ""})[0] == 201 for _ in range(6)
    )


@pytest.mark.slow
def test_the_version_says_how_safe_a_notification_is(tmp_path: Path) -> None:
    with (
        redis_server(tmp_path / "redis") as redis,
        running_server(tmp_path, broker=redis.url, recorder=0) as server,
    ):
        _status, version = server.request("GET", "/version")

    assert version["broker"] == "redis, append-only file, appendfsync=always"
    assert version["workers"] == 1
