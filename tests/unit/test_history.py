"""The ring of past notifications, at the edges of its bounds."""

from __future__ import annotations

import pytest

from app.core.notification import Notification
from app.core.position import Position
from app.core.units import ServerUs
from app.server.broker.base import Gap
from app.server.broker.history import History

AGE_US = 1_000


def made(offset: int, *, sent_us: int = 0, expires_us: int | None = None, body: str = "b") -> Notification:
    stamp, end = ServerUs(sent_us), None if expires_us is None else ServerUs(expires_us)
    return Notification(Position("e", offset), "default", stamp, stamp, "t", body, expires_us=end)


def a_history(*, count_max: int = 100, bytes_max: int = 10**6) -> History:
    return History(count_max=count_max, bytes_max=bytes_max, age_max_us=AGE_US)


def offsets(history: History, after: int = 0, now_us: int = 0) -> list[int]:
    return [each.offset for each in history.after(after, ServerUs(now_us))]


def test_an_empty_history_has_lost_nothing_and_begins_nowhere() -> None:
    history = a_history()

    assert (len(history), history.payload_bytes, history.lost_through) == (0, 0, 0)
    assert history.first_offset is None
    assert offsets(history) == []


def test_it_holds_exactly_as_many_as_it_may() -> None:
    history = a_history(count_max=3)

    lost = []
    for offset in range(1, 6):
        history.append(made(offset))
        lost.append(history.lost_through)

    assert lost == [0, 0, 0, 1, 2]
    assert (len(history), history.first_offset, offsets(history)) == (3, 3, [3, 4, 5])


@pytest.mark.parametrize("body", ["b", "ខ្មែរ"])
def test_it_holds_exactly_as_many_bytes_as_it_may(body: str) -> None:
    size = len(made(1, body=body).json.encode())
    history = a_history(bytes_max=2 * size)

    for offset in (1, 2):
        history.append(made(offset, body=body))
    full = (offsets(history), history.payload_bytes)
    history.append(made(3, body=body))

    assert full == ([1, 2], 2 * size)
    assert (offsets(history), history.payload_bytes) == ([2, 3], 2 * size)


def test_what_is_larger_than_all_it_may_hold_is_not_kept_and_counts_as_lost() -> None:
    history = a_history(bytes_max=10)

    history.append(made(7))

    assert (len(history), history.payload_bytes, history.lost_through) == (0, 0, 7)


@pytest.mark.parametrize(("later_us", "kept"), [(AGE_US, [1, 2]), (AGE_US + 1, [2])])
def test_what_is_older_than_it_may_be_goes_when_the_next_comes(later_us: int, kept: list[int]) -> None:
    history = a_history()

    history.append(made(1, sent_us=5))
    history.append(made(2, sent_us=5 + later_us))

    assert len(history) == len(kept)
    assert history.first_offset == kept[0]


def test_notifications_past_their_age_limit_are_gone_for_every_reader() -> None:
    history = a_history()
    for offset, sent_us in ((1, 0), (2, 10), (3, 20)):
        history.append(made(offset, sent_us=sent_us))

    assert offsets(history, now_us=AGE_US + 10) == [2, 3]
    assert history.lost_through == 1
    assert offsets(history, now_us=AGE_US + 100) == []
    assert history.lost_through == 3


@pytest.mark.parametrize(("after", "found"), [(0, [1, 2, 3]), (1, [2, 3]), (3, []), (9, [])])
def test_what_comes_after_a_position_leaves_that_one_out(after: int, found: list[int]) -> None:
    history = a_history()
    for offset in (1, 2, 3):
        history.append(made(offset))

    assert offsets(history, after) == found


def test_one_that_has_outlived_itself_is_passed_over_and_the_others_are_not() -> None:
    history = a_history()
    for offset, expires_us in ((1, None), (2, 50), (3, 51), (4, None)):
        history.append(made(offset, expires_us=expires_us))

    assert offsets(history, now_us=50) == [1, 3, 4]


def test_what_was_lost_before_stays_lost_when_older_ones_are_dropped() -> None:
    history = a_history(count_max=1)
    history.lost_through = 40

    history.append(made(7))
    history.append(made(8))

    assert history.lost_through == 40


def test_a_gap_says_on_the_wire_what_is_lost_and_where_the_client_stands_then() -> None:
    gap = Gap(3, 7, "expired", Position("e", 7))

    assert gap.wire() == {"from": 3, "to": 7, "reason": "expired", "id": "e.7"}
