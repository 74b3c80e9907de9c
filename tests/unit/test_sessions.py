"""Sessions that may be recovered: unguessable, expiring, bounded."""

from __future__ import annotations

import pytest

from app import clock
from app.broker import sessions
from app.broker.sessions import Sessions
from app.core.position import UNKNOWN, Position

HERE = Position("e", 7)


def test_who_comes_back_stands_where_it_came_in() -> None:
    kept = Sessions()
    pid = kept.begin(HERE)

    kept.leave(pid)

    assert kept.resume(pid) == HERE


def test_a_stranger_has_no_session() -> None:
    assert Sessions().resume("guessed") is None


def test_names_are_never_the_same_and_have_128_bits() -> None:
    kept = Sessions()

    names = {kept.begin(HERE) for _ in range(1000)}

    assert len(names) == 1000
    assert min(map(len, names)) >= 22, "22 characters of base64 hold 128 bits"


def test_who_is_away_too_long_is_forgotten_and_who_is_there_is_not() -> None:
    kept = Sessions()
    away, there = kept.begin(HERE), kept.begin(HERE)
    kept.leave(away)

    clock.fix(anchor_us=clock.anchor_us() + sessions.ABSENCE_MAX_US + 1, timebase=clock.timebase())
    try:
        assert kept.resume(away) is None
        assert kept.resume(there) == HERE
    finally:
        clock.fix(anchor_us=clock.anchor_us() - sessions.ABSENCE_MAX_US - 1, timebase=clock.timebase())


def test_who_asks_and_does_not_come_back_is_forgotten_in_its_time() -> None:
    """Where history no longer reaches back to its position, its client gets another name, and this one is nobody's."""
    kept = Sessions()
    asked, back = kept.begin(HERE), kept.begin(HERE)
    for pid in (asked, back):
        kept.leave(pid)
        kept.resume(pid)
    kept.enter(back)

    clock.fix(anchor_us=clock.anchor_us() + sessions.ABSENCE_MAX_US + 1, timebase=clock.timebase())
    try:
        assert kept.resume(asked) is None
        assert kept.resume(back) == HERE
    finally:
        clock.fix(anchor_us=clock.anchor_us() - sessions.ABSENCE_MAX_US - 1, timebase=clock.timebase())


def test_their_number_is_bounded_and_the_oldest_goes_first() -> None:
    kept = Sessions(count_max=3)

    names = [kept.begin(HERE) for _ in range(5)]

    assert [kept.resume(name) is not None for name in names] == [False, False, True, True, True]


def test_a_session_that_nobody_remembers_still_tells_where_its_client_came_in() -> None:
    pid = Sessions().begin(HERE)

    assert Sessions().resume(pid) is None
    assert Sessions().came_in_at(pid) == HERE


@pytest.mark.parametrize("pid", ["", "guessed", "a.b", ".", "x.e.7.8", "x" * 5000, "abc.e.-1"])
def test_what_is_no_session_of_ours_came_in_nowhere(pid: str) -> None:
    assert Sessions().came_in_at(pid) == UNKNOWN
