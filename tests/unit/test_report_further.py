"""Beside the verdict: other methods, characteristics and seconds, in the model, in JSON and on the page."""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest

from app.core.columns import DeliveryColumns
from app.core.trial import TrialRecord
from app.i18n import text
from app.lab.analysis.alternative_methods import POOLED_MAX, alternative_methods, single_trial_sentences
from app.lab.analysis.analyse import Analysis, analyse
from app.lab.analysis.comparison.compare_arms import Verdict
from app.lab.analysis.descriptive.arm_rows import descriptive_rows
from app.lab.analysis.descriptive.figures.catalogue import FIGURES, Characteristic, figures_of
from app.lab.analysis.descriptive.within_trial_ci import within_trials
from app.lab.report.contents.alternative_tables import methods_table, study_table
from app.lab.report.contents.descriptive_tables import characteristic_tables
from app.lab.report.data.result import result_json
from app.lab.report.renderers.html import report_html
from tests.unit.support_run import RunMaker, a_plan


@cache
def clear() -> Analysis:
    """SSE is faster by far in every block."""
    return analyse(
        RunMaker(
            a_plan(client_counts=(1, 3)),
            delay_ms=lambda arm, clients, client: 1.0 if arm.transport == "sse" else 3.0,
        ).run()
    )


@cache
def same() -> Analysis:
    """There is nothing to find, and trials differ by 15 %."""
    plan = a_plan(arms=("sse", "sse"), client_counts=(3,), notifications=40)
    return analyse(RunMaker(plan, block_noise=0.15, seed=5).run())


def test_where_the_difference_is_plain_every_method_sees_it() -> None:
    for row in alternative_methods(clear()):
        assert row.comparison.verdict is Verdict.LOWER_A
        assert row.effect is not None
        assert row.effect.a12 == 1.0
        assert row.pooled.significant
        assert row.study is not None
        assert (row.study.a_lower, row.study.b_lower) == (8, 0)
        assert row.study_agrees is True
        assert row.blocks_for_difference is not None


@pytest.mark.slow
def test_of_one_delivery_beyond_the_limit_every_second_is_pooled_and_up_to_it_all_are() -> None:
    def crowded(record: TrialRecord) -> TrialRecord:
        """Half the limit in each of an arm's two trials, and with SSE one more."""
        if record.spec.idle:
            return record
        count = POOLED_MAX // 2 + (record.spec.arm.transport == "sse")
        return replace(record, deliveries=DeliveryColumns.of([record.deliveries[0]] * count))

    plan = a_plan(client_counts=(1,), blocks=2, notifications=1, warmup=0)
    (row,) = alternative_methods(analyse(RunMaker(plan, alter=crowded).run()))

    # Of 50,001 in a trial, the first, the third and so on to the last.
    assert (row.pooled.a_count, row.pooled.b_count) == (2 * 25_001, 100_000)


def test_where_there_is_none_the_pooled_test_finds_one_and_the_study_both() -> None:
    (row,) = alternative_methods(same())

    assert row.comparison.verdict is Verdict.UNDECIDED
    assert row.pooled.significant
    assert row.study is not None
    assert row.study.a_lower > 0
    assert row.study.b_lower > 0
    assert row.study_agrees is None


def test_the_study_table_says_what_one_trial_would_have_said() -> None:
    table = study_table(alternative_methods(clear()))

    assert [text(row[3], "en") for row in table.rows] == ["SSE faster", "SSE faster"]
    assert [text(row[4], "en") for row in table.rows] == ["8 of 8", "8 of 8"]
    assert [text(row[8], "en") for row in table.rows] == ["yes", "yes"]


def test_the_terminal_says_it_in_a_sentence() -> None:
    assert text(single_trial_sentences(clear())[1], "en") == (
        "Measured once, clocks set once, as in the study: 8 of 8 blocks would have said SSE faster at 3 clients, "
        "0 Socket.IO."
    )


def test_a_p_that_is_not_zero_never_prints_as_zero() -> None:
    table = methods_table(alternative_methods(clear()))

    assert {text(row[7], "en") for row in table.rows} == {"< 0.001"}


def test_every_figure_has_its_characteristic_unit_formula_and_source() -> None:
    assert len({each.name for each in FIGURES}) == len(FIGURES)
    assert all(
        text(each, "en") for figure in FIGURES for each in (figure.title, figure.formula, figure.source)
    )
    assert all(figures_of(characteristic) for characteristic in Characteristic)


@pytest.mark.parametrize("run", [clear, same])
def test_a_table_for_each_characteristic_has_a_column_for_each_row_of_the_summary(
    run: Callable[[], Analysis],
) -> None:
    analysis = run()
    tables = characteristic_tables(analysis, descriptive_rows(analysis))

    assert [name for name, _ in tables] == list(Characteristic)
    for _, table in tables:
        assert len(table.headings) == len(analysis.summary) + 2
        assert all(len(row) == len(table.headings) for row in table.rows)


def test_the_json_has_both_and_no_nan() -> None:
    found = json.loads(json.dumps(result_json(clear()), allow_nan=False))

    comparison, summary = found["comparison"], found["summary"]
    assert [row["beside"]["effect"]["a12"] for row in comparison if row["family"] == "confirmatory"] == [
        1.0,
        1.0,
    ]
    assert {row["beside"] for row in comparison if row["family"] == "secondary"} == {None}
    assert len(comparison[0]["beside"]["study"]["blocks"]) == 8
    assert summary[0]["further"]["down_kbps"]["mean"] == 40.96  # 20 a second of 256 bytes
    assert summary[0]["further"]["arrivals"]["missing_share"] == 0.0
    assert [each["share"] for each in found["trials"][0]["within"]] == [0.5, 0.95]


def test_a_trials_own_intervals_hold_the_median_of_its_middle_client() -> None:
    found = within_trials(same())

    medians = {each.record.spec.index: each.metrics.delay_ms.p50 for each in same().trials}
    assert {each.quantile.share for each in found} == {0.5, 0.95}
    assert len(found) == 2 * len(medians)
    for each in found:
        interval, middle = each.quantile.interval, medians[each.trial]
        if each.quantile.share == 0.5:
            assert interval.low is not None
            assert interval.high is not None
            assert middle is not None
            assert interval.low <= middle <= interval.high
        else:
            assert interval.high is None, "40 samples do not reach beyond a p95"


@pytest.mark.parametrize(("notifications", "count"), [(10, 8), (9, 0)])
def test_a_trial_knows_its_own_quantiles_from_ten_samples_on(notifications: int, count: int) -> None:
    plan = a_plan(client_counts=(1,), blocks=2, notifications=notifications)

    found = within_trials(analyse(RunMaker(plan).run()))

    assert len(found) == count, "two quantiles of two arms in two blocks"


def test_of_two_clients_the_faster_one_stands_for_the_trial() -> None:
    plan = a_plan(client_counts=(2,), blocks=1)
    maker = RunMaker(plan, delay_ms=lambda arm, clients, client: 1.0 if client else 3.0)

    assert {each.client for each in within_trials(analyse(maker.run()))} == {1}


def test_memory_is_shown_in_mib() -> None:
    (figure,) = (each for each in FIGURES if each.name == "rss_mib")
    summary, row = clear().summary[0], descriptive_rows(clear())[0]

    assert figure.unit == "MiB"
    assert figure.value(summary, replace(row, rss_bytes=48 * 1024 * 1024)) == 48.0
    assert figure.value(summary, replace(row, rss_bytes=None)) is None


def test_a_run_without_a_trial_has_rows_without_figures() -> None:
    nothing = analyse(RunMaker(a_plan(client_counts=(1,))).run(complete=False, blocks_done=0))

    assert [row.arrivals.expected for row in descriptive_rows(nothing)] == [0, 0]
    assert [(row.effect, row.study, row.normality) for row in alternative_methods(nothing)] == [
        (None, None, None)
    ]


def test_the_page_has_the_sections_and_one_arm_alone_no_methods() -> None:
    alone = analyse(replace(RunMaker(a_plan(arms=("sse",), client_counts=(1,))).run(), id="alone"))

    assert "Had it been measured once, as in the study" in report_html(clear())
    assert "By characteristic (ISO/IEC 25023)" in report_html(alone)
    assert "The same data by other methods" not in report_html(alone)
