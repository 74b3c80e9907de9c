"""How long a green thread may go on alone that nothing makes wait."""

from __future__ import annotations

import itertools
import math

import pytest

from app import clock
from app.server.wsgi.yield_timer import ALONE_US_MAX, WAITED_US, YieldTimer


class Now:
    """The monotonic clock, as the test sets it."""

    def __init__(self) -> None:
        self.us = 10**9

    def __call__(self) -> int:
        return self.us


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> Now:
    now = Now()
    monkeypatch.setattr(clock, "monotonic_us", now)
    return now


def test_at_first_nobody_has_waited(now: Now) -> None:
    turns = YieldTimer()
    now.us += ALONE_US_MAX - 1

    assert not turns.is_due()


def test_a_thread_that_is_never_seen_to_have_been_asked_again_is_not_alone_for_long(now: Now) -> None:
    """A request of 300 us after the other, each of which comes between the look and the reading."""
    turns = YieldTimer()
    given_us = [now.us]

    for _ in range(1_000):
        now.us += 300
        if turns.is_due():
            turns.give()
            given_us.append(now.us)

    between_us = {later - earlier for earlier, later in itertools.pairwise(given_us)}
    assert between_us == {math.ceil(ALONE_US_MAX / 300) * 300}


def test_who_gives_way_for_another_reason_starts_the_time_anew(now: Now) -> None:
    turns = YieldTimer()
    now.us += ALONE_US_MAX
    turns.give()

    assert not turns.is_due()
    now.us += ALONE_US_MAX
    assert turns.is_due()


def test_who_waited_for_a_request_had_the_others_run_and_who_found_it_there_had_not(now: Now) -> None:
    turns = YieldTimer()
    now.us += ALONE_US_MAX
    turns.waited(now.us - WAITED_US + 1)
    assert turns.is_due()

    turns.waited(now.us - WAITED_US)
    assert not turns.is_due()
