"""One server process against several: which are compared, the ratios within repetitions, and who has a core."""

from __future__ import annotations

import pytest

from app.tools.bench.session import PACED, BenchCell
from app.tools.bench.several import SeveralPlan
from app.tools.bench.several_summary import Ratio, median_of, ratios

PLAN = SeveralPlan(transports=("sse",))


def paced(server: str, repetition: int, cpu_us: float) -> BenchCell:
    return BenchCell(PACED, server, "sse", 1_000, repetition, {"cpu_us": cpu_us})


def ratio_of(cells: list[BenchCell], of: str, to: str) -> Ratio:
    return next(
        each
        for each in ratios(cells, PLAN)
        if (each.of, each.to, each.kind, each.metric) == (of, to, PACED, "cpu_us")
    )


def test_redis_is_compared_with_the_memory_and_several_processes_with_one() -> None:
    pairs = {(each.of, each.to) for each in ratios([], PLAN)}

    assert pairs == {("redis-1", "memory-1"), ("redis-4", "redis-1")}


def test_a_ratio_is_taken_within_repetitions_and_not_of_the_medians() -> None:
    # The machine became ten times slower in the middle: each repetition says 2, the medians of each would not.
    speeds = (1.0, 1.0, 1.0, 10.0, 10.0, 10.0, 10.0)
    cells = [paced("redis-1", index, 5.0 * speed) for index, speed in enumerate(speeds)]
    cells += [paced("redis-4", index, 10.0 * speed) for index, speed in enumerate(speeds)]

    found = ratio_of(cells, "redis-4", "redis-1")

    assert (found.repetitions, found.ratio) == (7, pytest.approx(2.0))
    assert (found.low, found.high) == (pytest.approx(2.0), pytest.approx(2.0))


def test_five_repetitions_give_a_ratio_and_no_interval() -> None:
    cells = [paced(server, index, 5.0) for server in ("redis-1", "redis-4") for index in range(5)]

    found = ratio_of(cells, "redis-4", "redis-1")

    assert (found.ratio, found.low, found.high) == (pytest.approx(1.0), None, None)


def test_a_repetition_in_which_one_of_both_does_not_count_is_left_out() -> None:
    wrong = paced("redis-4", 0, 50.0)
    wrong.problems.append("3 lost")
    cells = [paced("redis-1", 0, 5.0), wrong, paced("redis-1", 1, 5.0), paced("redis-4", 1, 10.0)]

    found = ratio_of(cells, "redis-4", "redis-1")

    assert (found.repetitions, found.ratio) == (1, pytest.approx(2.0))
    assert median_of(cells, "redis-4", "sse", PACED, "cpu_us") == pytest.approx(10.0)


def test_a_figure_that_nobody_has_is_no_ratio() -> None:
    assert ratio_of([], "redis-1", "memory-1").ratio is None
