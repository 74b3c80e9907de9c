"""Statistics against closed forms, hand-made cases, SciPy, and a small simulation."""

import itertools
import math
import random
from collections.abc import Callable
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.lab.analysis.statistics.holm import holm
from app.lab.analysis.statistics.quantile import mean, median, quantile
from app.lab.analysis.statistics.signed_rank import (
    EXACT_RANKS_MAX,
    pseudo_median,
    sign_flip_p,
    signed_rank_interval,
    signed_rank_p,
)

differences = st.lists(st.floats(-1e6, 1e6).map(lambda value: round(value, 3)), min_size=1, max_size=12)


@pytest.mark.parametrize(
    ("values", "share", "expected"),
    [
        ([], 0.5, None),
        ([3.0], 0.99, 3.0),
        ([1.0, 2.0], 0.5, 1.5),
        ([4.0, 1.0, 3.0, 2.0], 0.25, 1.75),
        ([1.0, 2.0, 3.0], 1.0, 3.0),
    ],
)
def test_a_quantile_by_hand(values: list[float], share: float, expected: float | None) -> None:
    assert quantile(values, share) == expected


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50), st.floats(0, 1))
def test_the_quantile_is_numpys_default(values: list[float], share: float) -> None:
    assert quantile(values, share) == pytest.approx(float(numpy.quantile(values, share)), rel=1e-9, abs=1e-6)


def test_nothing_has_no_centre() -> None:
    assert (mean([]), median([]), pseudo_median([])) == (None, None, None)


def test_the_pseudo_median_by_hand() -> None:
    # Walsh averages of 1, 2, 6: 1, 1.5, 2, 3.5, 4, 6.
    assert pseudo_median([1.0, 6.0, 2.0]) == 2.75


@pytest.mark.parametrize(
    ("count", "level", "exists"),
    [
        (4, 0.90, False),
        (5, 0.90, True),
        (5, 0.95, False),
        (6, 0.95, True),
        (8, 1 - 0.05 / 6, True),
        (7, 1 - 0.05 / 6, False),
    ],
)
def test_an_interval_exists_from_so_many_values_on(count: int, level: float, exists: bool) -> None:
    interval = signed_rank_interval([float(n) for n in range(1, count + 1)], level)

    assert (interval.low is not None) is exists
    assert (interval.high is not None) is exists


def test_the_interval_of_six_values_at_95_percent_goes_from_the_smallest_to_the_largest() -> None:
    interval = signed_rank_interval([3.0, 1.0, 2.0, 9.0, 5.0, 4.0], 0.95)

    assert (interval.low, interval.high) == (1.0, 9.0)


def test_the_interval_of_ten_values_is_that_of_the_tables() -> None:
    # Hollander, Wolfe and Chicken, table A.4: n = 10, P(T+ <= 8) = 0.024, so the 9th Walsh average from either end.
    values = [0.5, 1.5, -0.7, 2.2, 3.1, 0.9, 1.1, -0.2, 2.9, 1.8]
    walsh = sorted((a + b) / 2 for a, b in itertools.combinations_with_replacement(values, 2))

    interval = signed_rank_interval(values, 0.95)

    assert (interval.low, interval.high) == (walsh[8], walsh[-9])


@given(differences, st.sampled_from([0.05, 0.10, 0.05 / 3, 0.05 / 6]))
def test_interval_and_test_always_agree(values: list[float], alpha: float) -> None:
    assert signed_rank_interval(values, 1 - alpha).excludes(0.0) == (signed_rank_p(values) <= alpha + 1e-12)


@pytest.mark.parametrize("count", [5, 8, 12, 40])
def test_the_signed_rank_test_is_scipys(stats: Any, count: int) -> None:
    rng = random.Random(count)
    for _ in range(20):
        values = [rng.gauss(0.4, 1.0) for _ in range(count)]

        assert signed_rank_p(values) == pytest.approx(stats.wilcoxon(values, method="exact").pvalue)


@pytest.mark.parametrize("count", [2, 5, 8, 11])
def test_the_sign_flip_test_is_scipys_exact_permutation_test(stats: Any, count: int) -> None:
    rng = random.Random(count)
    values = [rng.gauss(0.7, 1.0) for _ in range(count)]

    exact = stats.permutation_test(
        (numpy.array(values),), numpy.mean, permutation_type="samples", n_resamples=math.inf
    )

    assert sign_flip_p(values) == pytest.approx(exact.pvalue)


@given(differences)
def test_sign_flips_in_two_halves_count_what_all_of_them_count(values: list[float]) -> None:
    observed = abs(math.fsum(values)) - 1e-12 * math.fsum(map(abs, values))
    sums = [
        math.fsum(s * v for s, v in zip(signs, values, strict=True))
        for signs in itertools.product((1, -1), repeat=len(values))
    ]
    expected = sum(abs(each) >= observed for each in sums) / len(sums)

    assert sign_flip_p(values) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("test", [signed_rank_p, sign_flip_p])
def test_eight_differences_of_one_sign_have_the_smallest_p_of_eight(test: object) -> None:
    assert test([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]) == 2 / 2**8  # type: ignore[operator]


@pytest.mark.parametrize("test", [signed_rank_p, sign_flip_p])
def test_nothing_and_no_difference_reject_nothing(test: object) -> None:
    assert test([]) == 1.0  # type: ignore[operator]
    assert test([0.0, 0.0, 0.0]) == 1.0  # type: ignore[operator]


def test_beyond_the_exact_sizes_the_approximations_take_over_smoothly(stats: Any) -> None:
    rng = random.Random(3)
    values = [rng.gauss(0.2, 1.0) for _ in range(EXACT_RANKS_MAX + 20)]
    data, alpha = (numpy.array(values),), 0.01
    permuted = stats.permutation_test(data, numpy.mean, permutation_type="samples", n_resamples=20_000, rng=1)

    assert signed_rank_p(values) == pytest.approx(stats.wilcoxon(values, method="exact").pvalue, abs=0.002)
    assert sign_flip_p(values) == pytest.approx(permuted.pvalue, abs=0.005)
    assert signed_rank_interval(values, 1 - alpha).excludes(0.0) == (signed_rank_p(values) <= alpha)


@pytest.mark.parametrize("count", [6, 8, 12])
@pytest.mark.parametrize("noise", ["normal", "heavy tails"])
def test_the_interval_covers_the_truth_as_often_as_it_says(count: int, noise: str) -> None:
    rng = random.Random(f"{count} {noise}")
    draw: Callable[[], float] = (
        (lambda: rng.gauss(0, 1))
        if noise == "normal"
        else (lambda: rng.gauss(0, 1) / math.sqrt(rng.gammavariate(1.5, 2 / 3)))
    )
    runs = 1500

    covered = sum(
        not signed_rank_interval([draw() + 10 for _ in range(count)], 0.95).excludes(10.0)
        for _ in range(runs)
    )

    # At least 95 %, less three standard errors of the simulation itself.
    assert covered / runs >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / runs)


def test_holm_by_hand() -> None:
    # Sorted: 0.01 <= 0.05/4, 0.015 <= 0.05/3, 0.03 > 0.05/2, so 0.03 and 0.2 stand.
    steps = holm([0.03, 0.01, 0.2, 0.015])

    assert [step.rejected for step in steps] == [False, True, False, True]
    assert [step.adjusted_p for step in steps] == pytest.approx([0.06, 0.04, 0.2, 0.045])
    assert [1 - step.level for step in steps] == pytest.approx([0.025, 0.0125, 0.025, 0.05 / 3])


def test_equal_p_values_get_the_same_level() -> None:
    steps = holm([2 / 2**8] * 6)

    assert all(step.rejected for step in steps)
    assert {round(1 - step.level, 9) for step in steps} == {round(0.05 / 6, 9)}


def test_six_tests_pass_at_eight_blocks_and_not_at_seven() -> None:
    assert all(step.rejected for step in holm([2 / 2**8] * 6))
    assert not any(step.rejected for step in holm([2 / 2**7] * 6))


def test_nothing_to_test_needs_no_steps() -> None:
    assert holm([]) == ()


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_rejects_what_its_adjusted_p_and_its_level_say(p_values: list[float]) -> None:
    steps = holm(p_values)

    for p, step in zip(p_values, steps, strict=True):
        assert step.rejected == (step.adjusted_p <= 0.05 + 1e-9)
        assert step.rejected == (p <= 1 - step.level + 1e-9)


@pytest.mark.parametrize("count", [EXACT_RANKS_MAX + 1, EXACT_RANKS_MAX + 2])
def test_beyond_the_exact_sizes_the_signed_rank_test_is_scipys_normal_one(stats: Any, count: int) -> None:
    rng = random.Random(count)
    values = [rng.gauss(0.2, 1.0) for _ in range(count)]

    normal = stats.wilcoxon(values, method="approx", correction=True)

    assert signed_rank_p(values) == pytest.approx(normal.pvalue, rel=1e-6)
