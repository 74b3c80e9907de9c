"""How small a change between two runs must be to count as none: by the clocks of the trials that count, and of no other."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.core.trial import TrialRecord
from app.lab.analysis.analyse import Analysis, analyse
from app.lab.analysis.compare_runs import compare_runs, regressions
from tests.unit.support_run import RunMaker, a_plan

PLAN = a_plan(client_counts=(1, 3), blocks=10, notifications=12)

WIDE_US = 60_000.0


def a_run(
    name: str, *, slower: float = 1.0, seed: int, wide_block: int | None = None, wide_us: float | None = None
) -> Analysis:
    """`wide_block`: where clocks were not known well enough, with one client; `wide_us` without it: everywhere."""
    bound_us = WIDE_US if wide_us is None else wide_us

    def alter(record: TrialRecord) -> TrialRecord:
        is_there = (record.spec.clients, record.spec.block) == (1, wide_block)
        if record.spec.idle or not (is_there or (wide_block is None and wide_us is not None)):
            return record
        return replace(
            record, deliveries=tuple(replace(each, clock_bound_us=bound_us) for each in record.deliveries)
        )

    maker = RunMaker(PLAN, delay_ms=lambda arm, clients, client: 0.6 * slower, seed=seed, alter=alter)
    return analyse(replace(maker.run(), id=name))


def test_a_void_trial_s_clock_hides_no_regression() -> None:
    base = a_run("base", seed=1, wide_block=4)
    worse = a_run("worse", slower=1.6, seed=2)

    found = compare_runs([base, worse])

    assert any(not each.valid for each in base.trials)
    delays = [each for each in found if each.metric == "delay_ms_p50" and each.less is None]
    assert {(each.clients, each.equivalent) for each in delays} == {(1, False), (3, False)}
    assert all(each.margin is not None and each.margin < 1.0 for each in delays)
    assert [each for each in regressions(found) if each.metric == "delay_ms_p50"] == delays


def test_one_block_with_a_bad_clock_widens_no_margin_as_within_a_run() -> None:
    narrow, one_bad = a_run("a", seed=1), a_run("b", seed=1, wide_block=4, wide_us=4_000.0)
    assert all(each.valid for each in one_bad.trials)

    margins = [
        next(row.margin for row in compare_runs([run, narrow]) if row.metric == "delay_ms_p50")
        for run in (narrow, one_bad)
    ]

    assert margins[1] == pytest.approx(margins[0], rel=0.05)


def test_the_clocks_of_both_runs_widen_a_margin() -> None:
    narrow, wide = a_run("a", seed=1), a_run("b", seed=1, wide_us=2_000.0)

    found = [compare_runs(pair)[0].margin for pair in ([narrow, wide], [wide, narrow])]

    assert found == pytest.approx([4.0, 4.0])
