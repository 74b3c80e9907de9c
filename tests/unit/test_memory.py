"""Memory per connection: told with its interval where repetitions agree, and otherwise why not."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from typing import Any

import pytest

from app.core.trial import TrialRecord
from app.i18n import text
from app.lab.analysis.analyse import analyse
from app.lab.analysis.descriptive.arm_rows import descriptive_rows
from app.lab.analysis.descriptive.memory import KIB, MemoryPerConnection, WithoutFigure, memory_of
from app.lab.report.data.result import descriptive_json
from tests.unit.support_run import RunMaker, a_plan, cpu_use

PAGE_BYTES = 4096


def repetitions(
    count: int, *, counts: tuple[int, ...], kib: float, noise_kib: float, seed: int = 1
) -> dict[int, list[tuple[int, int]]]:
    """Resident memory of so many repetitions, in pages; each has its own level, which is nobody's connection."""
    rng = random.Random(seed)
    found = {}
    for repetition in range(count):
        level = 60_000_000 + rng.random() * 5_000_000 * repetition
        sizes = [level + clients * kib * KIB + rng.gauss(0, noise_kib * KIB) for clients in counts]
        found[repetition] = [
            (clients, round(size / PAGE_BYTES) * PAGE_BYTES)
            for clients, size in zip(counts, sizes, strict=True)
        ]
    return found


@pytest.mark.parametrize("count", [2, 4, 8, 20])
def test_the_interval_for_many_connections_contains_the_truth(count: int) -> None:
    found = memory_of(repetitions(count, counts=(1, 500, 1000), kib=12.0, noise_kib=50.0))

    assert found.unknown is None
    assert found.kib == pytest.approx(12.0, rel=0.05)
    assert found.kib is not None
    assert found.low_kib is not None
    assert found.high_kib is not None
    assert found.low_kib < found.kib < found.high_kib
    assert found.repetitions == count


def test_few_connections_have_a_result_if_the_repetitions_agree() -> None:
    steady = memory_of(repetitions(8, counts=(1, 3, 6), kib=60.0, noise_kib=4.0))
    drowned = memory_of(repetitions(8, counts=(1, 3, 6), kib=60.0, noise_kib=2000.0))

    assert steady.kib == pytest.approx(60.0, rel=0.1)
    assert (drowned.kib, drowned.unknown) == (None, WithoutFigure.WITHIN_NOISE)
    assert drowned.high_kib is not None
    assert drowned.high_kib > 60.0, "what it may be at most is said all the same"


@pytest.mark.parametrize(
    ("by_repetition", "unknown"),
    [
        ({}, WithoutFigure.NOT_RECORDED),
        (repetitions(8, counts=(6,), kib=9.0, noise_kib=0.0), WithoutFigure.ONE_COUNT),
        ({0: [(0, 4 * KIB), (0, 8 * KIB)], 1: [(0, 4 * KIB), (0, 4 * KIB)]}, WithoutFigure.ONE_COUNT),
        (repetitions(1, counts=(1, 1000), kib=9.0, noise_kib=0.0), WithoutFigure.ONE_REPETITION),
    ],
)
def test_without_anything_to_compare_the_reason_is_given(
    by_repetition: dict[int, list[tuple[int, int]]], unknown: WithoutFigure
) -> None:
    found = memory_of(by_repetition)

    assert (found.kib, found.low_kib, found.high_kib, found.unknown) == (None, None, None, unknown)


def test_repetitions_that_cancel_each_other_out_lie_around_nothing() -> None:
    # 1 KiB a client more, and 1 less: a mean of 0, a standard error of 1, and t(0.975, 1) = 12.706.
    found = memory_of({0: [(1, 0), (11, 10 * KIB)], 1: [(1, 10 * KIB), (11, 0)]})

    assert (found.kib, found.unknown) == (None, WithoutFigure.WITHIN_NOISE)
    assert (found.low_kib, found.high_kib) == pytest.approx((-12.706, 12.706), abs=1e-3)


def test_of_few_repetitions_the_interval_is_student_s(stats: Any) -> None:
    by_repetition = repetitions(5, counts=(1, 101), kib=30.0, noise_kib=300.0)
    slopes = [(sizes[1][1] - sizes[0][1]) / 100 / KIB for sizes in by_repetition.values()]

    found = memory_of(by_repetition)

    expected = stats.t.interval(0.95, 4, loc=sum(slopes) / 5, scale=stats.sem(slopes))
    assert (found.low_kib, found.high_kib) == pytest.approx(expected)


@pytest.mark.parametrize("count", [3, 8])
def test_where_connections_take_nothing_a_figure_is_given_in_a_fortieth_of_runs_at_most(
    stats: Any, count: int
) -> None:
    runs = 1000
    told = sum(
        memory_of(repetitions(count, counts=(1, 6), kib=0.0, noise_kib=200.0, seed=seed)).kib is not None
        for seed in range(runs)
    )

    assert stats.binomtest(told, runs, 0.025, alternative="greater").pvalue > 0.01


def test_a_report_says_the_figure_with_its_interval_and_so_does_json() -> None:
    def grown(record: TrialRecord) -> TrialRecord:
        noise = (record.spec.index * 7919) % 11 * 512
        size = 60_000_000 + 5_000_000 * record.spec.block + record.spec.clients * 12 * KIB + noise
        return replace(record, cpu=replace(cpu_use(total_s=0.01), rss_bytes=size))

    plan = a_plan(client_counts=(1, 21), blocks=6, notifications=2)

    row = descriptive_rows(analyse(RunMaker(plan, alter=grown).run()))[0]

    values = descriptive_json(row)
    assert values["memory"]["low_kib"] < values["memory_kib_per_connection"] < values["memory"]["high_kib"]
    assert re.match(r"1[12]\.\d+ \[", text(row.memory.words, "en"))


@pytest.mark.parametrize(
    ("memory", "words"),
    [
        (MemoryPerConnection(12.0, 11.5, 13.0, 8), "12.00 [11.50, 13.00]"),
        (MemoryPerConnection(None, -4.0, 60.0, 8, WithoutFigure.WITHIN_NOISE), "at most 60.00"),
        (MemoryPerConnection(None, -4.0, -1.0, 8, WithoutFigure.WITHIN_NOISE), "none seen"),
        (MemoryPerConnection(None, None, None, 0, WithoutFigure.ONE_COUNT), "one count of clients"),
        (MemoryPerConnection(None, None, None, 1, WithoutFigure.ONE_REPETITION), "one repetition"),
        (MemoryPerConnection(None, None, None, 0, WithoutFigure.NOT_RECORDED), "not recorded"),
    ],
)
def test_what_a_table_says(memory: MemoryPerConnection, words: str) -> None:
    assert text(memory.words, "en") == words
