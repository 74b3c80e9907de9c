"""A line through block means tells growth from noise, and what `python -m tests.tools.soak` has drawn it through."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, cast

import pytest

from tests.support.churn import BriefLedger
from tests.support.steadiness import slope
from tests.tools.soak import report_each_minute, sampled

TEN_MINUTES_S = 600


def samples(grows_mb: float, *, noise_mb: float, seed: int) -> list[tuple[float, float]]:
    """100 MB that grow by so much in ten minutes, read each second."""
    dice = random.Random(seed)
    return [
        (t, 100 + grows_mb * t / TEN_MINUTES_S + dice.gauss(0, noise_mb)) for t in range(TEN_MINUTES_S + 1)
    ]


def test_a_line_without_noise_has_its_slope_and_no_doubt() -> None:
    found = slope(samples(2.0, noise_mb=0.0, seed=1))

    assert found.percent == pytest.approx(2.0 / 1.01, rel=1e-3)
    assert found.percent_upper == pytest.approx(found.percent, abs=1e-6)


def test_the_bound_lies_above_the_true_slope_nineteen_times_in_twenty() -> None:
    above = sum(
        slope(samples(0.5, noise_mb=3.0, seed=seed)).percent_upper > 0.5 / 1.0025 for seed in range(200)
    )

    assert 180 <= above <= 198


def test_a_leak_of_two_percent_is_beyond_the_limit_and_noise_is_not() -> None:
    assert slope(samples(2.0, noise_mb=1.0, seed=1)).percent_upper > 1.0
    assert slope(samples(0.0, noise_mb=1.0, seed=1)).percent_upper < 1.0


def test_fewer_samples_than_blocks_are_no_line() -> None:
    with pytest.raises(ValueError, match="too few"):
        slope([(0.0, 1.0), (1.0, 1.0), (2.0, 1.0)])


def test_a_brief_ledger_stays_small_and_forgets_no_hole() -> None:
    ledger = BriefLedger()
    ledger.note_position("2fdf8016.10")
    for offset in (11, 12, 13, 15, 16, 16):
        ledger.note("notification", {"offset": offset})

    assert ledger.ranges == [(11, 13), (15, 16), (16, 16)]
    assert ledger.faults() == ["15-16 where 14 was next", "16-16 where 17 was next"]


class Timers:
    """A swarm without anybody: its timers fire when the test has them fire."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], None]] = []

    def after(self, _delay_s: float, action: Callable[[], None]) -> None:
        self.waiting.append(action)

    def fire(self) -> None:
        due, self.waiting = self.waiting, []
        for action in due:
            action()


def test_memory_is_read_as_long_as_it_is_measured_and_no_longer() -> None:
    """Afterwards the same timers run on while clients settle and leave."""
    timers, is_over = Timers(), [False]

    found = sampled(cast(Any, timers), lambda: 100.0, from_s=0.0, is_over=lambda: is_over[0])
    timers.fire()
    is_over[0] = True
    timers.fire()

    assert [mb for _, mb in found] == [100.0, 100.0]
    assert timers.waiting == []


def test_memory_is_not_read_during_the_warm_up() -> None:
    timers = Timers()

    found = sampled(cast(Any, timers), lambda: 100.0, from_s=3600.0, is_over=lambda: False)
    timers.fire()

    assert found == []
    assert len(timers.waiting) == 1


def test_a_soak_says_each_minute_how_far_it_is_and_nothing_once_it_is_over(
    capsys: pytest.CaptureFixture[str],
) -> None:
    timers, is_over = Timers(), [False]

    report_each_minute(cast(Any, timers), lambda: "7 sent", until_s=720.0, is_over=lambda: is_over[0])
    timers.fire()
    is_over[0] = True
    timers.fire()

    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "0 of 12 min: 7 sent\n")
    assert timers.waiting == []
