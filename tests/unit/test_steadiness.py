"""A line through block means tells growth from noise."""

from __future__ import annotations

import random

import pytest

from tests.support.churn import BriefLedger
from tests.support.steadiness import slope

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
    ledger.stand_at("2fdf8016.10")
    for offset in (11, 12, 13, 15, 16, 16):
        ledger.note("notification", {"offset": offset})

    assert ledger.heard == [(11, 13), (15, 16), (16, 16)]
    assert ledger.faults() == ["15-16 where 14 was next", "16-16 where 17 was next"]
