"""Two streams of Redis become one order: nothing is passed over where one of them was cut off."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from app.server.broker.redis.load import PAGE_ENTRIES, Page, decode_page
from tests.unit.test_redis_entries import GOOD

OPERATOR, TRIALS = range(1, 2 * PAGE_ENTRIES, 2), range(2, 2 * PAGE_ENTRIES + 2, 2)
"""A whole page of each."""


def a_page(operator: Iterable[int], trials: Iterable[int]) -> Page:
    streams = ([(b"%d-0" % offset, GOOD) for offset in offsets] for offsets in (operator, trials))
    return decode_page([b"ok", b"4000", b"drawn", b"3", b"5", *streams])


def offsets(page: Page) -> list[int]:
    return [each.offset for each in page.entries]


def test_what_redis_says_of_the_whole_is_passed_on() -> None:
    page = a_page([], [])

    assert (page.newest, page.newest_mark) == (4000, "drawn")
    assert (page.operator_lost, page.trials_lost) == (3, 5)
    assert (page.entries, page.is_last) == ((), True)


def test_both_histories_come_in_one_order() -> None:
    page = a_page([1, 4, 9], [2, 3, 10])

    assert (offsets(page), page.is_last) == ([1, 2, 3, 4, 9, 10], True)


def test_one_short_of_a_page_is_all_there_is() -> None:
    page = a_page(OPERATOR[:-1], [5000])

    assert page.is_last
    assert offsets(page)[-1] == 5000


@pytest.mark.parametrize("is_turned", [False, True])
def test_where_one_is_cut_off_the_other_waits_for_the_next_page(is_turned: bool) -> None:
    cut, other = list(OPERATOR), [10, cut_off := OPERATOR[-1] + 1, 5000]

    page = a_page(other, cut) if is_turned else a_page(cut, other)

    assert not page.is_last
    assert cut_off not in offsets(page)
    assert offsets(page) == sorted([*cut, 10])


@pytest.mark.parametrize("is_turned", [False, True])
def test_where_both_are_cut_off_the_one_that_reaches_less_far_decides(is_turned: bool) -> None:
    page = a_page(TRIALS, OPERATOR) if is_turned else a_page(OPERATOR, TRIALS)

    assert not page.is_last
    assert offsets(page) == list(range(1, OPERATOR[-1] + 1))
