"""The master's judgement of silent workers, by the time of its own loop; `fault/test_paused.py` has real pauses."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from gunicorn.arbiter import Arbiter

from app import clock
from app.server.wsgi.master import SiarMaster

TIMEOUT_S = 60


class Watched(SiarMaster):
    """A master without processes, and with a clock that the test sets."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.timeout = TIMEOUT_S
        self.log = logging.getLogger("master")
        self.now_s = 1_000.0
        self.judged_s: list[float] = []
        monkeypatch.setattr(clock, "monotonic_us", lambda: round(self.now_s * 1e6))
        monkeypatch.setattr(Arbiter, "spawn_worker", lambda _self: None)
        monkeypatch.setattr(Arbiter, "murder_workers", lambda _self: self.judged_s.append(self.now_s))

    def rounds(self, *after_s: float) -> list[float]:
        """Make a round of the loop after each time; return when workers were judged, from the first moment."""
        for seconds in after_s:
            self.now_s += seconds
            self.murder_workers()
        return [each - 1_000.0 for each in self.judged_s]


@pytest.fixture
def master(monkeypatch: pytest.MonkeyPatch) -> Any:
    found = Watched(monkeypatch)
    found.spawn_worker()
    return found


def test_workers_are_judged_in_each_round(master: Watched) -> None:
    assert master.rounds(1, 1, 1) == [1, 2, 3]


@pytest.mark.parametrize("before", [(), (1,)], ids=["before the first round", "after a round"])
def test_after_a_pause_workers_have_one_more_period(master: Watched, before: tuple[float, ...]) -> None:
    judged = master.rounds(*before)

    assert master.rounds(75, *[1] * (TIMEOUT_S - 1)) == judged
    assert len(master.rounds(1)) == len(judged) + 1
