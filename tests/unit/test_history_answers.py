"""EncodedDraft answers to who asks for history: when one is asked for, kept, left alone, and how they are counted."""

from __future__ import annotations

from typing import Any

import pytest

from app.core.errors import BrokerAway
from app.core.position import Position
from app.server.broker.history_cache import ANSWER_BYTES_MAX, ANSWERS_MAX, AWAY, HIT, MISS, HistoryCache

TTL_MS = 5000

HERE = Position("e", 7)


class Shelf:
    """What Redis keeps, without Redis: the same two questions."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}
        self.asked: list[tuple[Any, ...]] = []
        self.is_broken = False

    def ask(self, script: str, *arguments: str | int) -> list[Any]:
        self._answer_or_break(script, *arguments)
        return []

    def cached_response(self, question: str) -> bytes | None:
        self._answer_or_break(question)
        return self.kept.get(question)

    def _answer_or_break(self, *asked: Any) -> None:
        self.asked.append(asked)
        if self.is_broken:
            raise BrokerAway("Redis does not answer.")


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


@pytest.fixture
def cache(shelf: Shelf) -> HistoryCache:
    return HistoryCache(shelf, ttl_ms=TTL_MS, is_away=lambda: False)


def test_what_is_kept_is_a_hit_and_what_is_not_a_miss(shelf: Shelf, cache: HistoryCache) -> None:
    shelf.kept["0:100"] = b'{"notifications":[]}'

    assert cache.find("0:100") == (HIT, '{"notifications":[]}')
    assert cache.find("0:99") == (MISS, None)


def test_an_empty_answer_that_is_kept_is_a_hit_too(shelf: Shelf, cache: HistoryCache) -> None:
    shelf.kept["0:100"] = b""

    assert cache.find("0:100") == (HIT, "")


def test_redis_is_not_asked_while_it_is_away(shelf: Shelf) -> None:
    shelf.kept["0:100"] = b"kept"

    assert HistoryCache(shelf, ttl_ms=TTL_MS, is_away=lambda: True).find("0:100") == (AWAY, None)
    assert shelf.asked == []


def test_a_redis_that_goes_away_costs_an_answer_nothing_but_the_cache(
    shelf: Shelf, cache: HistoryCache
) -> None:
    shelf.is_broken = True

    cache.keep("0:100", "made here", position=HERE)

    assert cache.find("0:100") == (AWAY, None)


@pytest.mark.parametrize(
    ("left_us", "ttl_ms"),
    [(None, TTL_MS), (5_001_000, TTL_MS), (5_000_000, 5000), (4_999_999, 4999), (1_000, 1)],
)
def test_an_answer_is_kept_as_long_as_asked_for_and_no_longer_than_what_is_in_it(
    shelf: Shelf, cache: HistoryCache, left_us: int | None, ttl_ms: int
) -> None:
    cache.keep("0:100", "x", position=HERE, left_us=left_us)

    assert shelf.asked == [("keep", "e", 7, "0:100", "x", ttl_ms, ANSWERS_MAX)]


@pytest.mark.parametrize("left_us", [999, 0, -1])
def test_an_answer_that_ends_within_a_millisecond_is_not_kept(
    shelf: Shelf, cache: HistoryCache, left_us: int
) -> None:
    cache.keep("0:100", "x", position=HERE, left_us=left_us)

    assert shelf.asked == []


def test_an_answer_is_kept_up_to_its_largest_length_and_not_beyond(shelf: Shelf, cache: HistoryCache) -> None:
    cache.keep("longest", "x" * ANSWER_BYTES_MAX, position=HERE)
    cache.keep("too long", "x" * (ANSWER_BYTES_MAX + 1), position=HERE)

    assert [asked[3] for asked in shelf.asked] == ["longest"]


def test_what_all_answers_may_fill_is_two_megabytes() -> None:
    assert ANSWER_BYTES_MAX * ANSWERS_MAX == 2 * 1024 * 1024


def test_answers_and_their_times_are_added_up_by_outcome(cache: HistoryCache) -> None:
    for outcome, took_us in ((HIT, 10), (MISS, 700), (HIT, 5)):
        cache.count(outcome, took_us)

    assert cache.answers == {HIT: 2, MISS: 1, AWAY: 0}
    assert cache.took_us == {HIT: 15, MISS: 700, AWAY: 0}
