"""Answers about history that Redis keeps: never older than what Redis has, bounded, and no reason to fail."""

from __future__ import annotations

import http.client
import json
import secrets
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from app.core.broker_url import RedisAddress
from app.core.errors import SettingError
from app.core.position import Position
from app.core.units import ServerUs
from app.server.broker.base import Draft
from app.server.broker.history_cache import ANSWER_BYTES_MAX, ANSWERS_MAX, AWAY, HIT, MISS, HistoryCache
from app.server.broker.redis.broker import RedisBroker
from app.server.broker.redis.link import RedisLink
from app.settings import Settings
from tests.support.brokers import publish
from tests.support.followers import wait_for
from tests.support.patience import PATIENCE_S
from tests.support.redis_server import RedisServer, redis_server, shared_redis
from tests.support.server import RunningServer, running_server

TTL_S = 60.0


def broker_on(redis: RedisServer, prefix: str) -> RedisBroker:
    address = RedisAddress(((redis.host, redis.port),), prefix=prefix)
    return RedisBroker(RedisLink(address), count_max=1000, bytes_max=10**9, age_max_us=10**12)


@pytest.fixture
def prefix() -> str:
    return f"test-{secrets.token_hex(8)}"


@pytest.fixture
def broker(prefix: str) -> Iterator[RedisBroker]:
    with closing(broker_on(shared_redis(), prefix)) as broker:
        yield broker


@pytest.fixture
def cache(broker: RedisBroker) -> HistoryCache:
    return broker.history_cache(ttl_s=TTL_S)


def test_an_answer_is_kept_until_the_next_notification(broker: RedisBroker, cache: HistoryCache) -> None:
    publish(broker)
    cache.keep("0:100", "first", position=broker.position())
    kept = cache.find("0:100")

    publish(broker)

    assert kept == (HIT, "first")
    assert cache.find("0:100") == (MISS, None)


def test_a_trials_notification_ends_it_too_since_the_answer_names_the_newest_position(
    broker: RedisBroker, cache: HistoryCache
) -> None:
    cache.keep("0:100", "none yet", position=broker.position())

    broker.publish(Draft(title="t", body="b", topic="siar.trial", due_us=ServerUs(0), trial=True))

    assert cache.find("0:100") == (MISS, None)


def test_an_answer_that_was_overtaken_while_it_was_made_is_not_kept(
    broker: RedisBroker, cache: HistoryCache
) -> None:
    before = broker.position()
    publish(broker)

    cache.keep("0:100", "old", position=before)
    cache.keep("0:99", "of another life", position=Position("another", broker.position().offset))

    assert cache.find("0:100") == cache.find("0:99") == (MISS, None)


def test_what_one_server_publishes_ends_what_another_one_kept(
    broker: RedisBroker, cache: HistoryCache, prefix: str
) -> None:
    cache.keep("0:100", "old", position=broker.position())

    with closing(broker_on(shared_redis(), prefix)) as other:
        seen = other.history_cache(ttl_s=TTL_S).find("0:100")
        publish(other)

    assert seen == (HIT, "old")
    assert cache.find("0:100") == (MISS, None)


def test_neither_many_questions_nor_a_long_answer_fill_redis(
    broker: RedisBroker, cache: HistoryCache
) -> None:
    for number in range(ANSWERS_MAX + 1):
        cache.keep(f"{number}:1", "x", position=broker.position())
    found = [cache.find(f"{number}:1")[0] for number in range(ANSWERS_MAX + 1)]
    publish(broker)

    cache.keep("0:1000", "x" * (ANSWER_BYTES_MAX + 1), position=broker.position())

    assert found == [HIT] * ANSWERS_MAX + [MISS]
    assert cache.find("0:1000") == (MISS, None)


def test_an_answer_lasts_no_longer_than_what_is_in_it(
    broker: RedisBroker, cache: HistoryCache, prefix: str
) -> None:
    def left_ms() -> int:
        return int(shared_redis().command("PTTL", f"{{{prefix}}}:cache").strip(":\r\n"))

    cache.keep("0:1", "ends", position=broker.position(), left_us=20_000_000)
    first = left_ms()
    cache.keep("0:2", "lasts", position=broker.position())

    assert 0 < left_ms() <= first <= 20_000
    cache.keep("0:3", "over", position=broker.position(), left_us=-5)
    assert cache.find("0:3") == (MISS, None)


def test_without_redis_every_answer_is_made(tmp_path: Path, prefix: str) -> None:
    with redis_server(tmp_path / "redis") as redis, closing(broker_on(redis, prefix)) as broker:
        cache = broker.history_cache(ttl_s=TTL_S)
        cache.keep("0:1", "x", position=broker.position())

        redis.kill()
        wait_for(lambda: cache.find("0:1") == (AWAY, None), lambda: cache.find("0:1"))

        cache.keep("0:1", "y", position=broker.position())  # and nothing is raised


def test_a_cache_without_redis_is_refused_in_words() -> None:
    with pytest.raises(SettingError, match="redis://"):
        Settings(history_cache_ttl_s=5)


def listed(server: RunningServer) -> tuple[str | None, Any]:
    """What is said of the cache, and the answer."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S)
    with closing(connection):
        connection.request("GET", "/api/notifications")
        answer = connection.getresponse()
        return answer.getheader("Cache-Status"), json.loads(answer.read())


def test_a_server_says_of_each_answer_whether_it_was_kept_and_counts_them(
    tmp_path: Path, prefix: str
) -> None:
    broker = f"{shared_redis().url}?prefix={prefix}"
    with running_server(tmp_path, broker=broker, history_cache_ttl_s=60) as server:
        server.publish("one")
        answers = [listed(server), listed(server)]
        server.publish("two")
        answers += [listed(server), listed(server)]
        _, metrics = server.request("GET", "/metrics")

    assert [told for told, _ in answers] == ["siar; fwd=miss", "siar; hit"] * 2
    assert answers[0][1] == answers[1][1]
    assert answers[2][1] == answers[3][1]
    assert [each["title"] for each in answers[3][1]["notifications"]] == ["one", "two"]
    assert 'siar_history_answers_total{outcome="hit"} 2.0' in metrics
    assert 'siar_history_answers_seconds_total{outcome="miss"}' in metrics
