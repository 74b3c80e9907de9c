"""Verdicts, equivalence and their words, from block differences given by hand."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from app.core.delivery import Outcome
from app.core.messages import interval, number
from app.core.plan.scenario import Arm, Plan, arms_from_names
from app.core.trial import TrialRecord
from app.i18n import text
from app.i18n import text as text_of
from app.lab.analysis.analyse import analyse
from app.lab.analysis.comparison import sentences
from app.lab.analysis.comparison.compare_arms import Block, Comparison, Verdict, compare
from app.lab.analysis.comparison.margins import margin, more_blocks
from app.lab.analysis.words import arm_title
from app.lab.studies.published import repeated_study, studies
from tests.unit.support_run import RunMaker, a_plan, cpu_use

SPREAD = [0.00, 0.01, -0.02, 0.03, -0.01, 0.02, -0.03, 0.005]
"""What makes eight blocks differ; centre about 0."""


def sentence(comparison: Comparison) -> str:
    return text_of(sentences.sentence(comparison), "en")


def blocks_of(
    plan: Plan, differences: list[float], *, void: int = 0, base_ms: float = 1.0, bound_ms: float = 0.05
) -> list[Block]:
    """Blocks of each count of clients in which b is higher than a by each difference; the first `void` are void."""
    a, b = plan.arms[0].name, plan.arms[1].name
    return [
        Block(
            number=index,
            clients=clients,
            valid=index >= void,
            values={
                a: dict.fromkeys(("delay_ms_p50", "cpu_per_delivery_us", "jitter_ms"), base_ms),
                b: dict.fromkeys(("delay_ms_p50", "cpu_per_delivery_us", "jitter_ms"), base_ms + difference),
            },
            clock_bound_ms=bound_ms,
        )
        for clients in plan.client_counts
        for index, difference in enumerate(differences)
    ]


def verdict_at_6(differences: list[float], *, plan: Plan | None = None, **rest: float) -> Comparison:
    plan = plan or a_plan()
    found = compare(plan, blocks_of(plan, differences, **rest))  # type: ignore[arg-type]
    return next(each for each in found if (each.metric, each.clients) == ("delay_ms_p50", 6))


@pytest.mark.parametrize(
    ("differences", "verdict", "equivalent"),
    [
        ([0.50 + each for each in SPREAD], Verdict.LOWER_A, False),
        ([-0.50 + each for each in SPREAD], Verdict.LOWER_B, False),
        ([0.10 + each for each in SPREAD], Verdict.LOWER_A, True),  # there, and within 20 % of 1 ms
        ([-0.10 + each for each in SPREAD], Verdict.LOWER_B, True),
        (SPREAD, Verdict.UNDECIDED, True),
        ([20 * each for each in SPREAD], Verdict.UNDECIDED, False),
        ([0.5, 0.5, 0.5], Verdict.UNDECIDED, False),  # --quick
        ([0.5 + each for each in SPREAD[:7]], Verdict.UNDECIDED, False),
        (
            SPREAD[:7],
            Verdict.UNDECIDED,
            True,
        ),  # a question of its own: its 90 % interval exists from 5 blocks on
        (SPREAD[:4], Verdict.UNDECIDED, False),
        ([], Verdict.UNDECIDED, False),
    ],
)
def test_the_verdict_follows_from_the_block_differences(
    differences: list[float], verdict: Verdict, equivalent: bool
) -> None:
    found = verdict_at_6(differences)

    assert (found.verdict, found.equivalent) == (verdict, equivalent)
    assert (found.more_blocks is not None) is (verdict is Verdict.UNDECIDED)


@pytest.mark.parametrize(
    ("planned", "run", "void", "verdict"),
    [
        (8, 8, 0, Verdict.LOWER_A),
        (8, 11, 3, Verdict.LOWER_A),  # three repeated
        (8, 11, 4, Verdict.UNDECIDED),
        (8, 8, 5, Verdict.INVALID),
        (3, 3, 1, Verdict.INVALID),
        (3, 4, 1, Verdict.UNDECIDED),
        (8, 2, 0, Verdict.UNDECIDED),  # stopped early: nothing is wrong with what there is
        (8, 0, 0, Verdict.UNDECIDED),
    ],
)
def test_void_blocks_make_a_count_of_clients_invalid_only_when_too_few_are_left(
    planned: int, run: int, void: int, verdict: Verdict
) -> None:
    differences = [0.5 + 0.001 * index for index in range(run)]

    assert verdict_at_6(differences, plan=a_plan(blocks=planned), void=void).verdict is verdict


def test_a_difference_must_pass_holm_and_not_only_95_percent() -> None:
    # One clear count of clients among three; one that 95 % alone would pass (p = 0.039 of 8 blocks).
    plan = a_plan()
    weak = [0.5, 0.6, 0.7, 0.8, 0.9, 1.0, -0.3, -0.05]
    blocks = [each for each in blocks_of(plan, weak) if each.clients == 6]
    blocks += [each for each in blocks_of(plan, SPREAD) if each.clients != 6]

    found = next(each for each in compare(plan, blocks) if (each.clients, each.family) == (6, "confirmatory"))

    assert 0.05 / 3 < found.p_signed_rank <= 0.05
    assert found.interval.excludes(0.0)
    assert not found.holm_interval.excludes(0.0)
    assert found.verdict is Verdict.UNDECIDED


def test_six_secondary_comparisons_pass_together_at_eight_blocks() -> None:
    plan = a_plan()

    found = compare(plan, blocks_of(plan, [0.5 + each for each in SPREAD]))

    secondary = [each for each in found if each.family == "secondary"]
    assert [(each.metric, each.clients) for each in secondary] == [
        (metric, clients) for metric in ("cpu_per_delivery_us", "jitter_ms") for clients in (1, 3, 6)
    ]
    assert {each.verdict for each in secondary} == {Verdict.LOWER_A}


def test_every_other_arm_is_compared_with_the_first() -> None:
    arms = (Arm("sse", "sse"), Arm("socketio", "socketio"), Arm("deflate", "socketio", {"deflate": True}))
    plan = replace(a_plan(client_counts=(1,)), arms=arms)
    values = {"delay_ms_p50": 1.0, "cpu_per_delivery_us": 1.0, "jitter_ms": 1.0}
    blocks = [Block(n, 1, True, {arm.name: values for arm in arms}, 0.05) for n in range(8)]

    found = [each for each in compare(plan, blocks) if each.family == "confirmatory"]

    assert [(each.a.name, each.b.name) for each in found] == [("sse", "socketio"), ("sse", "deflate")]
    assert {each.verdict for each in found} == {Verdict.UNDECIDED}
    assert all(each.equivalent for each in found), "no difference at all lies within any margin"


def test_estimate_and_interval_are_b_minus_a() -> None:
    found = verdict_at_6([0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2])

    assert found.estimate == pytest.approx(0.85)
    assert found.ratio == pytest.approx(1.85, abs=0.02)
    # 8 values at 95 %: the 4th Walsh average from either end, since P(T <= 3) = 5/256 <= 0.025 < P(T <= 4).
    assert (found.interval.low, found.interval.high) == pytest.approx((0.6, 1.1))


@pytest.mark.parametrize(
    ("difference", "ratio"),
    [
        (-1.0, 0.5),  # 1 ms over 2 ms
        (-1.5, 0.25),  # 0.5 ms over 2 ms
        (-2.0, None),  # Nothing has no logarithm.
        (-2.5, None),
    ],
)
def test_whatever_is_above_zero_has_a_ratio_however_small_and_nothing_else_has(
    difference: float, ratio: float | None
) -> None:
    found = verdict_at_6([difference] * 8, base_ms=2.0)

    assert found.ratio == (None if ratio is None else pytest.approx(ratio))


@pytest.mark.parametrize(
    ("metric", "environment", "a_median", "bound_ms", "expected"),
    [
        ("delay_ms_p50", "loopback", 1.0, 0.05, 0.2),
        ("delay_ms_p50", "loopback", 0.5, 0.3, 0.6),
        ("delay_ms_p50", "lan", 30.0, 0.3, 5.0),
        ("delay_ms_p50", "lan", 80.0, 0.3, 8.0),
        ("cpu_per_delivery_us", "loopback", 50.0, 0.3, 5.0),
        ("jitter_ms", "lan", 2.0, 0.3, 0.4),
        ("jitter_ms", "lan", None, 0.3, None),
    ],
)
def test_margins(
    metric: str, environment: str, a_median: float | None, bound_ms: float, expected: float | None
) -> None:
    plan = a_plan(environment=environment)

    found = margin(metric, plan, a_median=a_median, clock_bound_ms=bound_ms)

    assert found == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(("ratio", "blocks"), [(0.5, 34), (0.75, 16), (1.0, 10), (1.5, 6), (2.0, 5)])
def test_blocks_needed_are_those_of_the_power_table(ratio: float, blocks: int) -> None:
    # The table of measurement.md section 5, 80 % power. Seven blocks with standard deviation 1.
    spread = [1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 0.0]
    differences = [ratio + each for each in spread]

    needed = 7 + more_blocks(differences, estimate=ratio, margin=None, alpha=0.05)

    assert needed == pytest.approx(max(blocks, 8), abs=2)


@pytest.mark.parametrize(
    ("differences", "text"),
    [
        (
            [0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2],
            "SSE faster by 0.850 ms [0.600, 1.100] at 6 clients",
        ),
        (
            [-0.5, -0.6, -0.7, -0.8, -0.9, -1.0, -1.1, -1.2],
            "Socket.IO faster by 0.850 ms [0.600, 1.100] at 6 clients",
        ),
        (
            [0.10] * 8,
            "SSE faster by 0.100 ms [0.100, 0.100] at 6 clients; equivalent within ±0.200 ms",
        ),
        (
            [0.1, -0.1] * 4,
            "equivalent within ±0.200 ms at 6 clients: Socket.IO - SSE = 0.000 ms 90 % interval [-0.100, 0.100]",
        ),
        (
            [0.5, 0.5, 0.5],
            "undecided (about 5 more blocks needed) at 6 clients: Socket.IO - SSE = 0.500 ms, "
            "too few blocks for an interval",
        ),
        (
            [0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5],
            "undecided (about 1 more block needed) at 6 clients: Socket.IO - SSE = 0.500 ms [0.500, 0.500]",
        ),
        ([], "undecided (about 8 more blocks needed) at 6 clients: no valid block gives delay"),
    ],
)
def test_verdicts_in_words(differences: list[float], text: str) -> None:
    assert sentence(verdict_at_6(differences)) == text


def test_an_invalid_count_of_clients_says_why() -> None:
    found = verdict_at_6([0.5] * 8, void=6)

    assert sentence(found) == "delay invalid at 6 clients: only 2 of 8 blocks are valid, see the warnings"


def test_an_endless_number_of_blocks_is_not_promised() -> None:
    assert "999 or more" in sentence(verdict_at_6([30.0, -30.0, 29.0, -29.0, 31.0, -31.0, 30.0, -30.001]))


def test_other_metrics_have_words_of_their_own() -> None:
    plan = a_plan(client_counts=(1,))
    found = compare(plan, blocks_of(plan, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], base_ms=40.0))

    assert [sentence(each) for each in found] == [
        "SSE faster by 4.500 ms [2.000, 7.000] at 1 client; equivalent within ±8.000 ms",
        "SSE cheaper by 4.500 us of CPU per notification [2.000, 7.000] at 1 client",
        "SSE steadier by 4.500 ms of jitter [2.000, 7.000] at 1 client; equivalent within ±8.000 ms of jitter",
    ]


def test_an_a_a_run_speaks_of_its_arms_apart_and_doubts_a_difference() -> None:
    plan = replace(a_plan(), arms=arms_from_names(["sse", "sse"]))

    same = sentence(verdict_at_6([0.1, -0.1] * 4, plan=plan))
    false_alarm = sentence(verdict_at_6([0.5 + each for each in SPREAD], plan=plan))

    assert (
        same
        == "equivalent within ±0.200 ms at 6 clients: SSE 2 - SSE 1 = 0.000 ms 90 % interval [-0.100, 0.100]"
    )
    assert false_alarm.startswith("SSE 1 faster by 0.5")
    assert "the arms are the same" in false_alarm


@pytest.mark.parametrize(
    ("arm", "title"),
    [
        (Arm("sse", "sse"), "SSE"),
        (Arm("socketio.2", "socketio"), "Socket.IO 2"),
        (Arm("polling", "socketio", {"transports": "polling"}), "polling"),
    ],
)
def test_arms_have_titles(arm: Arm, title: str) -> None:
    assert arm_title(arm) == title


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (0.12345, "0.123"),
        (-0.0001, "0.000"),
        (12.345, "12.35"),
        (123.45, "123.5"),
        (12345.6, "12346"),
    ],
)
def test_numbers_have_four_digits_and_no_negative_zero(value: float | None, text: str) -> None:
    assert number(value) == text


def test_an_interval_without_ends_is_a_dash() -> None:
    assert [text(each, "en") for each in (interval(None, None), interval(-0.5, 1.0))] == [
        "-",
        "[-0.500, 1.000]",
    ]


def in_a_a(share: float) -> Callable[[Arm, int, int], float]:
    return lambda arm, clients, client: 1.0 + share * (arm.name == "sse.2")


@pytest.mark.slow
@pytest.mark.parametrize(("share", "least", "most"), [(0.0, 0, 10), (0.5, 100, 100)])
def test_a_a_runs_find_no_difference_and_an_injected_one_is_found(
    share: float, least: int, most: int
) -> None:
    # 5 false alarms of 100 are what a 95 % interval promises; 10 are more than two standard deviations above.
    plan = a_plan(arms=("sse", "sse"), client_counts=(1,), notifications=5)
    runs = [RunMaker(plan, delay_ms=in_a_a(share), seed=seed).run() for seed in range(100)]

    verdicts = [analyse(run).verdicts[0].verdict for run in runs]

    assert least <= sum(verdict is not Verdict.UNDECIDED for verdict in verdicts) <= most


def test_a_block_counts_only_when_the_trials_of_all_its_arms_are_valid() -> None:
    def break_one(record: TrialRecord) -> TrialRecord:
        spec = record.spec
        bad = (spec.clients, spec.block, spec.arm.name) == (3, 2, "socketio") and not spec.idle
        return replace(record, disconnects=1) if bad else record

    analysis = analyse(RunMaker(alter=break_one).run())

    at_3 = next(each for each in analysis.verdicts if each.clients == 3)
    assert [block for block, _ in at_3.differences] == [0, 1, 3, 4, 5, 6, 7]
    assert at_3.verdict is Verdict.UNDECIDED
    assert at_3.more_blocks is not None
    assert analysis.row(at_3.a, 3).trials == 7
    assert (analysis.totals.trials, analysis.totals.void) == (48, 1)
    assert [(group.first.code, len(group.trials)) for group in analysis.warnings] == [("disconnected", 1)]


def test_what_invalid_trials_lost_is_counted_apart() -> None:
    def lose(record: TrialRecord) -> TrialRecord:
        spec = record.spec
        if spec.idle or (spec.clients, spec.arm.name) != (3, "socketio") or spec.block > 1:
            return record
        lost = 2 if spec.block == 0 else 3
        kept = len(record.deliveries) - lost
        gone = [
            replace(each, outcome=Outcome.LOST, received_client_us=None) for each in record.deliveries[kept:]
        ]
        altered = replace(record, deliveries=(*record.deliveries[:kept], *gone))
        return replace(altered, disconnects=1) if spec.block == 0 else altered

    totals = analyse(RunMaker(alter=lose).run()).totals

    assert (totals.void, totals.lost, totals.lost_in_void) == (1, 5, 2)


def test_a_void_idle_window_voids_its_block_and_a_missing_one_takes_its_net_cpu_only() -> None:
    def break_idle(record: TrialRecord) -> TrialRecord:
        if not record.spec.idle:
            return record
        return replace(
            record, disconnects=record.spec.block == 0, cpu=None if record.spec.block == 1 else record.cpu
        )

    analysis = analyse(RunMaker(alter=break_idle).run())

    cpu = [each for each in analysis.comparisons if each.metric == "cpu_per_delivery_us"]
    assert {each.blocks for each in cpu} == {6}
    assert {each.blocks for each in analysis.verdicts} == {7}
    assert analysis.totals.void == 0, "its trials are valid in themselves"


def test_warnings_of_one_kind_are_told_together_and_notes_apart_from_voids() -> None:
    def load(record: TrialRecord) -> TrialRecord:
        busy_s = {2: 2.5, 4: 0.7, 5: 0.7}.get(record.spec.index)
        return replace(record, cpu=cpu_use(total_s=0.01, machine_busy_s=busy_s)) if busy_s else record

    groups = analyse(RunMaker(alter=load).run()).warnings

    assert [(group.first.code, group.first.severity.value, group.trials) for group in groups] == [
        ("machine_busy", "void", (2,)),
        ("machine_busy", "note", (4, 5)),
    ]


def test_an_interrupted_run_is_analysed_as_far_as_it_came() -> None:
    analysis = analyse(RunMaker().run(complete=False, blocks_done=2))

    assert {each.verdict for each in analysis.verdicts} == {Verdict.UNDECIDED}
    assert {each.blocks for each in analysis.verdicts} == {2}


def test_a_run_without_a_single_trial_is_analysed() -> None:
    analysis = analyse(RunMaker().run(complete=False, blocks_done=0))

    assert analysis.totals.expected == 0
    assert {row.delay_ms_p50 for row in analysis.summary} == {None}


def test_the_widest_clock_of_a_run_bounds_what_its_verdict_calls_the_same() -> None:
    """On loopback: a difference within twice the clock's bound could be the clock's."""

    def blur(record: TrialRecord) -> TrialRecord:
        if record.spec.arm.name != "socketio":
            return record
        return replace(
            record, deliveries=tuple(replace(each, clock_bound_us=700.0) for each in record.deliveries)
        )

    plan = a_plan(client_counts=(1,), blocks=2, notifications=5)

    (sharp,), (blurred,) = (
        analyse(maker.run()).verdicts for maker in (RunMaker(plan), RunMaker(plan, alter=blur))
    )

    assert sharp.margin is not None
    assert sharp.margin < 0.3
    assert blurred.margin == pytest.approx(1.4)


def test_pooled_tails_need_their_broadcasts() -> None:
    analysis = analyse(RunMaker().run())

    row = analysis.row(analysis.run.plan.arms[0], 6)
    assert (row.samples, row.broadcasts) == (960, 160), "a notification to six clients is one broadcast"
    assert row.delay_ms_p95 is not None
    assert row.delay_ms_p99 is None, "160 broadcasts, and p99 needs 500"


def test_a_curve_is_thin_and_keeps_its_ends() -> None:
    row = analyse(RunMaker().run()).summary[-1]

    assert len(row.curve.delay_ms) == 200
    assert row.curve.delay_ms[-1] == row.delay_ms_max
    assert row.curve.share[-1] == 1.0
    assert list(row.curve.delay_ms) == sorted(row.curve.delay_ms)


def test_published_figures_are_those_of_the_study() -> None:
    study = repeated_study()

    assert len(studies()) == 4
    assert [study.delay_at("socketio", n).value for n in (1, 3, 6)] == [0.523, 0.613, 0.991]  # type: ignore[union-attr]
    assert study.delay_at("sse", 3).derived  # type: ignore[union-attr]
    assert study.cpu_at("sse", 6).value == 8.866  # type: ignore[union-attr]
    assert study.delay_at("sse", 2) is None
    assert {point.client for point in study.delay_points} == {1, 3, 6}


def test_there_is_no_ratio_to_nothing() -> None:
    assert verdict_at_6([0.5] * 8, base_ms=0.0).ratio is None
    assert verdict_at_6([-1.0] * 8, base_ms=1.0).ratio is None
    assert verdict_at_6([1.0] * 8, base_ms=1.0).ratio == pytest.approx(2.0)
