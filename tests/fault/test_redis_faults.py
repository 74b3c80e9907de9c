"""A Redis that is full, slow, or gone for its replica, seen from the clients of a server on it, over both transports."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from app.tools.calibrate.tcp_proxy import TcpProxy
from tests.support.followers import Publisher, following, wait_for
from tests.support.proxy import bad_line
from tests.support.redis_server import redis_server
from tests.support.sentinel import pair, wait_until_level
from tests.support.server import running_server

pytestmark = pytest.mark.slow

TRANSPORTS = ("sse", "socketio")

PUBLISHED_S_MAX = 300.0
"""Ten answers through the slow line take some ten seconds."""

LATENCY_S = 0.2
SLOW = bad_line(latency_s=LATENCY_S, jitter_s=0.1)
"""Each way: an answer takes half a second, within the broker's patience of 1.5 s."""

FAILOVER_TIMES = 3
"""A sentinel takes its time before it believes that a master is gone."""


def test_while_redis_is_full_publishing_is_refused_and_subscribers_stay(tmp_path: Path) -> None:
    with (
        redis_server(tmp_path / "redis") as redis,
        running_server(tmp_path, broker=redis.url, recorder=0) as server,
        following(server.port, TRANSPORTS) as followers,
    ):
        server.publish("before")
        redis.command("CONFIG", "SET", "maxmemory", "1")
        refused = [
            server.request("POST", "/api/notifications", {"title": "no room", "body": ""})[0]
            for _ in range(3)
        ]
        _status, listed = server.request("GET", "/api/notifications")
        redis.command("CONFIG", "SET", "maxmemory", "0")
        after = server.publish("after")
        wait_for(lambda: all(len(each.titles) == 2 for each in followers), server.log)

    assert refused == [507] * 3
    assert [each["title"] for each in listed["notifications"]] == ["before"]
    assert after["offset"] == 2, "what was refused has left no hole"
    assert [each.titles for each in followers] == [["before", "after"]] * 2
    assert [each.connections for each in followers] == [1, 1], "nobody had to come back"


@pytest.mark.nightly
@pytest.mark.alone
def test_a_redis_that_is_slow_loses_and_doubles_nothing_and_holds_up_nobody_else(tmp_path: Path) -> None:
    with (
        redis_server(tmp_path / "redis") as redis,
        TcpProxy("127.0.0.1", redis.port, to_client=SLOW, to_server=SLOW) as line,
        running_server(tmp_path, broker=f"redis://127.0.0.1:{line.own_port}", recorder=0) as server,
        following(server.port, TRANSPORTS) as followers,
    ):
        publisher = Publisher(server, 10)
        publisher.start()
        waits_s, until_s = [], time.monotonic() + PUBLISHED_S_MAX
        while publisher.is_alive() and time.monotonic() < until_s:
            asked_s = time.monotonic()
            assert server.request("GET", "/healthz")[0] == 200
            waits_s.append(time.monotonic() - asked_s)
        publisher.gives_up.set()
        wait_for(lambda: all(len(each.titles) >= 10 for each in followers), server.log, times=FAILOVER_TIMES)

    assert len(waits_s) > 10
    held_up = [each for each in waits_s if each > LATENCY_S]
    assert len(held_up) < 5, (
        "while one waited for Redis, the others were served: ten waits would have held up ten"
    )
    assert [each["offset"] for each in publisher.answered] == list(range(1, 11))
    assert [each.titles for each in followers] == [[str(number) for number in range(10)]] * 2
    assert not any(each.gaps for each in followers)


def test_after_a_failover_that_lost_nothing_subscribers_go_on_without_a_gap(tmp_path: Path) -> None:
    with (
        pair(tmp_path) as found,
        running_server(tmp_path, broker=found.url, recorder=0) as server,
        following(server.port, TRANSPORTS) as followers,
    ):
        before = server.publish("before")
        wait_until_level(found)
        found.master.kill()
        publisher = Publisher(server, 1)
        publisher.start()
        wait_for(publisher.has_answers(1), server.log, times=FAILOVER_TIMES)
        wait_for(lambda: all(len(each.titles) >= 2 for each in followers), server.log, times=FAILOVER_TIMES)

    assert publisher.answered[0]["offset"] == before["offset"] + 1
    assert [each.titles for each in followers] == [["before", "0"]] * 2
    assert not any(each.gaps for each in followers)
