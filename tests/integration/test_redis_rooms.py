"""Of several servers on one Redis, one has the rooms; the others refuse them in words, until it goes."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.core.broker_url import RedisAddress
from app.core.errors import NotKept
from app.server.broker.redis.broker import RedisBroker
from app.server.broker.redis.link import RedisLink
from app.server.broker.redis.rooms import Rooms
from tests.support.followers import wait_for
from tests.support.redis_server import RedisServer, redis_server, shared_redis
from tests.support.server import RunningServer, ServerSettings, running_server


class Group:
    """Servers of one prefix on one Redis."""

    def __init__(self, redis: RedisServer) -> None:
        self.redis = redis
        self.prefix = f"test-{secrets.token_hex(8)}"
        self.brokers: list[RedisBroker] = []

    def server(self, name: str, prefix: str = "") -> RedisBroker:
        address = RedisAddress(((self.redis.host, self.redis.port),), prefix=prefix or self.prefix)
        bounds = {"count_max": 100, "bytes_max": 10**9, "age_max_us": 10**12}
        self.brokers.append(RedisBroker(RedisLink(address), **bounds, server=name))
        return self.brokers[-1]


@pytest.fixture
def group() -> Iterator[Group]:
    found = Group(shared_redis())
    yield found
    for each in found.brokers:
        each.close()


def test_the_first_server_has_the_rooms_and_a_second_one_has_none(group: Group) -> None:
    first, second = group.server("first"), group.server("second")

    assert (first.has_rooms, second.has_rooms) == (True, False)


def test_a_worker_that_takes_another_s_place_has_the_rooms_of_its_server(group: Group) -> None:
    group.server("first")

    assert group.server("first").has_rooms


def test_a_server_with_a_prefix_of_its_own_has_rooms_of_its_own(group: Group) -> None:
    group.server("first")

    assert group.server("second", prefix=f"{group.prefix}-2").has_rooms


def test_a_server_of_several_processes_takes_the_rooms_from_nobody(group: Group) -> None:
    group.server("")

    assert group.server("first").has_rooms


@pytest.mark.slow
def test_a_server_that_ends_in_order_leaves_the_rooms_to_the_next(group: Group) -> None:
    first, second = group.server("first"), group.server("second")

    first.leave_rooms()

    wait_for(lambda: second.has_rooms, group.redis.log)
    assert not group.server("third").has_rooms


@pytest.mark.slow
def test_the_rooms_of_a_server_that_died_are_free_when_its_lease_is_over(group: Group) -> None:
    first, second = group.server("first"), group.server("second")

    first.close()  # It renews nothing any more, and tells nobody.

    wait_for(lambda: second.has_rooms, group.redis.log)


@pytest.mark.slow
def test_with_a_redis_that_takes_nothing_everything_stays_as_it_was(tmp_path: Path) -> None:
    with redis_server(tmp_path) as redis:
        group = Group(redis)
        group.server("first")
        link = RedisLink(RedisAddress(((redis.host, redis.port),), prefix=group.prefix))
        redis.command("CONFIG", "SET", "maxmemory", "1")
        with pytest.raises(NotKept):
            link.ask("claim", "first", 1000)

        rooms = Rooms(link, "first")
        rooms.keep()

        assert rooms.are_here, "nobody has said otherwise"
        link.hang_up()
        group.brokers[0].close()


@contextlib.contextmanager
def two_servers(tmp_path: Path) -> Iterator[tuple[RunningServer, RunningServer]]:
    with redis_server(tmp_path / "redis") as redis:
        options: ServerSettings = {"broker": redis.url, "recorder": 0}
        with running_server(tmp_path, **options) as first, running_server(tmp_path, **options) as second:
            yield first, second


@pytest.mark.slow
def test_a_second_server_refuses_rooms_with_a_code_until_the_first_is_gone(tmp_path: Path) -> None:
    with two_servers(tmp_path) as (first, second):
        asked = [
            second.request("POST", path, {})
            for path in ("/api/room", "/api/room/practice", "/api/runs", "/api/participants")
        ]
        indonesian = second.request("POST", "/api/room", {}, headers={"Accept-Language": "id"})[1]
        of_first = first.request("POST", "/api/room/practice", {})
        published = second.publish("as ever")
        os.killpg(first.process.pid, signal.SIGKILL)
        wait_for(
            lambda: second.request("POST", "/api/room/practice", {})[1].get("code") != "rooms_elsewhere",
            second.log,
        )

    assert [(status, problem["code"]) for status, problem in asked] == [(409, "rooms_elsewhere")] * 4
    assert "?prefix=" in asked[0][1]["detail"]
    assert "ruang" in indonesian["detail"]
    assert of_first[1].get("code") != "rooms_elsewhere"
    assert published["offset"] == 1
