"""Runs against each other: exact statistics of two groups, what may be compared, and what got worse."""

import random
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.plan.scenario import Plan
from app.core.trial import RunRecord, TrialRecord
from app.i18n import text
from app.lab.analysis.analyse import Analysis, analyse
from app.lab.analysis.comparable import Weight, objections, setting_differences
from app.lab.analysis.compare_runs import Change, compare_runs, regressions
from app.lab.analysis.statistics.rank_sum import rank_sum_interval, rank_sum_p, shift
from app.lab.report.data.comparison import compared_json
from tests.unit.support_run import RunMaker, a_plan

PLAN = a_plan(client_counts=(1, 3), blocks=10, notifications=12)

groups = st.lists(st.integers(-9, 9).map(float), min_size=1, max_size=7)


def test_the_shift_is_the_median_of_all_differences() -> None:
    assert shift([1.0, 2.0], [4.0, 8.0]) == 4.5  # 2, 3, 6, 7
    assert shift([], [1.0]) is None


@pytest.mark.parametrize(("m", "n"), [(3, 3), (3, 8), (8, 8), (12, 10), (20, 20)])
def test_the_rank_sum_test_is_scipys(stats: Any, m: int, n: int) -> None:
    rng = random.Random(m * n)
    for _ in range(10):
        a, b = [rng.gauss(0, 1) for _ in range(m)], [rng.gauss(0.8, 1) for _ in range(n)]

        assert rank_sum_p(a, b) == pytest.approx(stats.mannwhitneyu(a, b, method="exact").pvalue)


def test_beyond_what_is_counted_out_the_normal_distribution_is_as_good(stats: Any) -> None:
    rng = random.Random(1)
    a, b = [rng.gauss(0, 1) for _ in range(60)], [rng.gauss(0.3, 1) for _ in range(60)]

    assert rank_sum_p(a, b) == pytest.approx(stats.mannwhitneyu(a, b, method="exact").pvalue, abs=2e-3)


def test_beyond_what_is_counted_out_the_interval_is_as_good_too() -> None:
    a, b = [float(n) for n in range(50)], [n + 10.0 for n in range(50)]

    counted, approximated = (rank_sum_interval(a, own, 0.95) for own in (b, [*b, 34.5]))

    assert counted.low is not None
    assert counted.high is not None
    assert 3.0 < counted.low < 6.0
    assert (counted.low + counted.high) / 2 == 10.0
    assert (approximated.low, approximated.high) == pytest.approx((counted.low, counted.high), abs=1.0)


@given(groups, groups, st.sampled_from([0.05, 0.1, 0.3]))
def test_interval_and_test_always_agree(a: list[float], b: list[float], alpha: float) -> None:
    assert rank_sum_interval(a, b, 1 - alpha).excludes(0.0) == (rank_sum_p(a, b) <= alpha + 1e-12)


def test_the_interval_of_three_and_three_exists_at_90_percent_and_not_at_95() -> None:
    # 20 orders; P(U <= 0) = 0.05, so 90 % goes from the smallest difference to the largest.
    a, b = [1.0, 2.0, 3.0], [5.0, 7.0, 11.0]

    assert rank_sum_interval(a, b, 0.95).low is None
    assert (rank_sum_interval(a, b, 0.90).low, rank_sum_interval(a, b, 0.90).high) == (2.0, 10.0)
    assert rank_sum_interval([], b, 0.90).low is None


@pytest.mark.slow
def test_the_interval_covers_the_shift_as_often_as_it_says() -> None:
    rng = random.Random(4)
    covered = 0
    for _ in range(2000):
        a = [rng.lognormvariate(0, 0.5) for _ in range(8)]
        b = [1.0 + rng.lognormvariate(0, 0.5) for _ in range(8)]
        interval = rank_sum_interval(a, b, 0.95)
        assert interval.low is not None
        assert interval.high is not None
        covered += interval.low <= 1.0 <= interval.high

    assert covered / 2000 > 0.94


def a_run(*, seed: int = 1, slower: float = 1.0, plan: Plan = PLAN, name: str = "") -> RunRecord:
    maker = RunMaker(
        plan,
        delay_ms=lambda arm, clients, client: (
            (0.55 + 0.04 * clients) * (slower if arm.transport == "socketio" else 1.0)
        ),
        seed=seed,
    )
    return replace(maker.run(), id=name or f"run-{seed}")


@cache
def analysed(**settings: object) -> Analysis:
    return analyse(a_run(**settings))  # type: ignore[arg-type]


def base() -> Analysis:
    return analysed(seed=1)


def same() -> Analysis:
    return analysed(seed=2)


def worse() -> Analysis:
    return analysed(seed=3, slower=1.6)


def test_two_runs_of_the_same_have_no_regression() -> None:
    rows = compare_runs([base(), same()])

    assert regressions(rows) == ()
    assert {row.metric for row in rows} == {"delay_ms_p50", "cpu_per_delivery_us", "jitter_ms"}
    assert len(rows) == 3 * (2 + 1) * 2  # metrics, arms and their difference, counts of clients


def test_what_got_slower_is_named_and_the_other_arm_is_not() -> None:
    rows = compare_runs([base(), worse()])

    found = [row for row in regressions(rows) if row.metric == "delay_ms_p50"]
    assert {(row.arm.name, row.clients) for row in found} == {("socketio", 1), ("socketio", 3)}
    assert all(row.estimate > 0 and row.p_holm <= 0.05 and not row.equivalent for row in found)
    assert all(row.effect is not None and row.effect.word == "large" for row in found)


def test_what_got_faster_is_no_regression() -> None:
    rows = compare_runs([worse(), base()])

    changes = {row.change for row in rows if row.arm.name == "socketio" and row.metric == "delay_ms_p50"}
    assert changes == {Change.BETTER}
    assert [row for row in regressions(rows) if row.metric == "delay_ms_p50"] == []


def test_a_day_that_was_slower_for_all_leaves_the_difference_between_arms_alone() -> None:
    maker = RunMaker(PLAN, delay_ms=lambda arm, clients, client: 2.0, seed=4)
    usual = RunMaker(PLAN, delay_ms=lambda arm, clients, client: 1.0, seed=5)

    rows = compare_runs([analyse(usual.run()), analyse(replace(maker.run(), id="slow-day"))])

    delays = [row for row in rows if row.metric == "delay_ms_p50"]
    assert {row.change for row in delays if row.less is None} == {Change.WORSE}
    assert {row.change for row in delays if row.less is not None} == {Change.UNDECIDED}


def test_three_runs_are_each_set_against_the_first_in_one_family() -> None:
    rows = compare_runs([base(), same(), worse()])

    assert [row.run for row in regressions(rows) if row.metric == "delay_ms_p50"] == ["run-3", "run-3"]
    assert {row.run for row in rows} == {"run-2", "run-3"}


def test_a_figure_that_only_one_of_the_runs_has_is_not_compared() -> None:
    def broken(record: TrialRecord) -> TrialRecord:
        return replace(record, disconnects=1) if record.spec.arm.name == "socketio" else record

    without = analyse(replace(a_run(seed=2), trials=tuple(map(broken, a_run(seed=2).trials))))

    for pair in ([base(), without], [without, base()]):
        assert compare_runs(pair) == ()


def test_settings_that_differ_are_listed_refusing_ones_first() -> None:
    other = replace(
        same().run,
        plan=replace(PLAN, rate_hz=50.0, idle_s=0.6, seed=99),
        conditions={**same().run.conditions, "cpu_model": "another", "python": "3.12.1"},
    )

    found = setting_differences([base().run, other])

    assert [(each.name, each.weight) for each in found] == [
        ("plan.rate_hz", Weight.REFUSED),
        ("cpu_model", Weight.WARNED),
        ("plan.idle_s", Weight.WARNED),
        ("python", Weight.NOTED),
    ]
    assert found[0].values == (20.0, 50.0)
    assert setting_differences([base().run, same().run]) == ()


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"plan": replace(PLAN, environment="lan")}, "loopback against lan"),
        ({"simulated": False}, "no radio"),
        ({"plan": replace(PLAN, payload_bytes=1024)}, "depend on the payload"),
        ({"plan": replace(PLAN, client_counts=(6,))}, "no count of clients in common"),
        ({"plan": replace(PLAN, arms=a_plan(arms=("sse", "sse")).arms)}, "no arm in common"),
        ({"plan": replace(PLAN, profile="live")}, "live run"),
    ],
)
def test_runs_that_mean_different_things_are_refused_with_the_reason(
    changed: dict[str, object], reason: str
) -> None:
    found = objections([base().run, replace(same().run, **changed)])  # type: ignore[arg-type]

    assert len(found) == 1
    assert reason in text(found[0], "en")


def test_runs_that_may_be_compared_meet_no_objection() -> None:
    assert objections([base().run, same().run, worse().run]) == ()


def test_the_json_has_settings_rows_and_sentences() -> None:
    found = compared_json([base(), worse()])

    assert [each["id"] for each in found["runs"]] == ["run-1", "run-3"]
    assert found["objections"] == []
    assert {row["change"] for row in found["rows"]} <= {"worse", "better", "undecided"}
    assert any("Socket.IO at 1 client higher" in text for text in found["regressions"])
