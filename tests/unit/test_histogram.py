"""Histograms lose nothing when they are merged, and little when they count."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.errors import Malformed
from app.core.histogram import Histogram, bucket_us, bucket_width_us, histogram_of, merged

FEW = settings(max_examples=30, deadline=None)

VALUES = st.lists(st.integers(0, 10**9), min_size=1, max_size=200)


@FEW
@given(st.lists(VALUES, min_size=1, max_size=5))
def test_histograms_of_parts_merge_to_the_histogram_of_the_whole(parts: list[list[int]]) -> None:
    whole = histogram_of(value for part in parts for value in part)

    together = merged([histogram_of(part) for part in parts])

    assert together == whole


@FEW
@given(st.integers(0, 10**12))
def test_a_bucket_holds_its_value_and_is_at_most_a_thousandth_wide(value: int) -> None:
    bucket = bucket_us(value)

    assert bucket <= value < bucket + bucket_width_us(bucket)
    assert bucket_width_us(bucket) <= max(1, value / 1000)
    assert bucket_us(bucket) == bucket


@FEW
@given(VALUES, st.sampled_from([0.0, 0.5, 0.95, 0.99, 1.0]))
def test_a_quantile_is_within_a_thousandth_of_the_value_at_its_rank(values: list[int], share: float) -> None:
    exact_ms = sorted(values)[int(share * (len(values) - 1))] / 1000

    found_ms = histogram_of(values).quantile_ms(share)

    assert found_ms == pytest.approx(exact_ms, rel=1e-3, abs=0.001)


def test_mean_and_maximum_are_exact() -> None:
    histogram = histogram_of([1_000_003, 5, 7_777_777])

    assert histogram.mean_ms == pytest.approx((1_000_003 + 5 + 7_777_777) / 3000)
    assert histogram.max_us == 7_777_777


def test_nothing_has_no_quantile_and_no_mean() -> None:
    assert Histogram().quantile_ms(0.5) is None
    assert Histogram().mean_ms is None


def test_a_delay_below_zero_counts_as_none() -> None:
    histogram = histogram_of([-0.7, -5_000])

    assert (histogram.quantile_ms(0.5), histogram.mean_ms, histogram.max_us) == (0, 0, 0)
    assert histogram.counts == {0: 2}


@FEW
@given(VALUES)
def test_a_histogram_comes_back_from_json_as_it_was(values: list[int]) -> None:
    histogram = histogram_of(values)

    assert Histogram.from_json(json.loads(json.dumps(histogram.to_json()))) == histogram


@pytest.mark.parametrize("counts", [5, [5], [[5]], [["five", 1]], [[5, 1, 1]], [[5, None]]])
def test_what_is_no_histogram_is_refused(counts: object) -> None:
    with pytest.raises(Malformed):
        Histogram.from_json({"counts": counts, "sum_us": 5, "max_us": 5})


def test_a_quantile_is_the_middle_of_its_bucket_and_never_above_what_was_met() -> None:
    low_us, width_us = bucket_us(1_000_000), bucket_width_us(bucket_us(1_000_000))

    with_more = histogram_of([1_000_000, 9_000_000])
    alone = histogram_of([low_us])

    assert with_more.quantile_ms(0.0) == (low_us + (width_us - 1) / 2) / 1000
    assert alone.quantile_ms(0.5) == low_us / 1000
