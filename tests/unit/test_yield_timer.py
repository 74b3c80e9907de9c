"""The time after which a green thread that never waits yields to the others."""

from __future__ import annotations

import itertools
import math

import pytest

from app import clock
from app.server.wsgi.worker import WAITED_US_MIN, WITHOUT_YIELD_US_MAX, YieldTimer


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


def test_no_yield_is_due_at_first(now: Now) -> None:
    timer = YieldTimer()
    now.us += WITHOUT_YIELD_US_MAX - 1

    assert not timer.is_due()


def test_a_thread_whose_next_request_is_never_seen_waiting_yields_in_time(now: Now) -> None:
    """Requests of 300 us, each of which arrives between the check of the socket and the read."""
    timer = YieldTimer()
    yielded_us = [now.us]

    for _ in range(1_000):
        now.us += 300
        if timer.is_due():
            timer.restart()
            yielded_us.append(now.us)

    between_us = {later - earlier for earlier, later in itertools.pairwise(yielded_us)}
    assert between_us == {math.ceil(WITHOUT_YIELD_US_MAX / 300) * 300}


def test_a_yield_for_another_reason_restarts_the_time(now: Now) -> None:
    timer = YieldTimer()
    now.us += WITHOUT_YIELD_US_MAX
    timer.restart()

    assert not timer.is_due()
    now.us += WITHOUT_YIELD_US_MAX
    assert timer.is_due()


def test_a_wait_for_a_request_counts_as_a_yield_and_a_request_that_was_there_does_not(now: Now) -> None:
    timer = YieldTimer()
    now.us += WITHOUT_YIELD_US_MAX
    timer.note_wait(now.us - WAITED_US_MIN + 1)
    assert timer.is_due()

    timer.note_wait(now.us - WAITED_US_MIN)
    assert not timer.is_due()
