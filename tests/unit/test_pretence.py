"""A clock that is wrong by intent: what it shows, and when it showed it."""

import pytest

from app.lab.run.simulated_clock import TRUE_CLOCK, SimulatedClock

BOOT_US = 90_000_000_000.0
"""A day and an hour after the machine began."""

HOUR_US = 3_600_000_000.0

WRONG = {
    "right": TRUE_CLOCK,
    "an hour ahead and fast": SimulatedClock(offset_us=HOUR_US, skew_ppm=120.0, from_us=BOOT_US),
    "a day behind and slow": SimulatedClock(offset_us=-24 * HOUR_US, skew_ppm=-80.0, from_us=BOOT_US),
    "steps in between": SimulatedClock(step_us=30_000.0, step_at_us=BOOT_US + 500_000),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=list(WRONG))
def test_the_true_moment_of_a_reading_is_found_to_a_microsecond(wrong: SimulatedClock) -> None:
    for moment_us in (BOOT_US, BOOT_US + 1, BOOT_US + 499_999, BOOT_US + 500_000, BOOT_US + 3 * HOUR_US):
        assert wrong.true_us(wrong.reads_us(moment_us)) == pytest.approx(moment_us, abs=0.51)


def test_a_fast_clock_gains_its_parts_per_million() -> None:
    fast = SimulatedClock(skew_ppm=100.0, from_us=BOOT_US)

    assert fast.reads_us(BOOT_US) == BOOT_US
    assert fast.reads_us(BOOT_US + 10_000_000) == BOOT_US + 10_000_000 + 1_000


def test_a_step_comes_at_its_moment_and_not_before() -> None:
    steps = WRONG["steps in between"]

    assert steps.reads_us(BOOT_US + 499_999) == BOOT_US + 499_999
    assert steps.reads_us(BOOT_US + 500_000) == BOOT_US + 530_000
