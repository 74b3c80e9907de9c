"""Each warning: what brings it about, what just does not, and what it does to the trial."""

from dataclasses import replace

import pytest

from app.core.delivery import Delivery, Outcome, SampleState
from app.core.trial import Severity, TrialRecord, TrialWarning
from app.lab.analysis.validity.checks import OWN_CODES, check_trial, is_valid
from app.lab.analysis.validity.trial_warnings import texts
from tests.unit.support_run import RunMaker, a_delivery, a_plan, a_trial, cpu_use

PLAN = a_plan(client_counts=(1,), notifications=4, warmup=0)

VOID, NOTE = Severity.VOID, Severity.NOTE


def rows(**changes: object) -> list[Delivery]:
    """Four good arrivals; the changes apply to the first."""
    good = [a_delivery(seq=seq, due_ms=seq * 50.0, kernel_delay_ms=0.9) for seq in range(4)]
    first = a_delivery(**{"kernel_delay_ms": 0.9, **changes})  # type: ignore[arg-type]
    return [first, *good[1:]]


def trial(deliveries: list[Delivery] | None = None, **changes: object) -> TrialRecord:
    return a_trial(rows() if deliveries is None else deliveries, plan=PLAN, **changes)  # type: ignore[arg-type]


def codes(record: TrialRecord) -> dict[str, Severity]:
    return {warning.code: warning.severity for warning in check_trial(record, PLAN)}


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (trial(), {}),
        (trial(completed=False), {"incomplete": VOID}),
        (trial(published=3), {"incomplete": VOID}),
        (trial(disconnects=1), {"disconnected": VOID}),
        (trial(disturbances=2), {"disturbed": NOTE}),
        (trial(source_lag_us=[5000] * 4), {}),
        (trial(source_lag_us=[5001] * 4), {"source_late": VOID}),
        (trial(client_loop_lag_ms_p99=5.0), {}),
        (trial(client_loop_lag_ms_p99=5.1), {"client_slow": NOTE}),
        (trial([a_delivery(seq=s, delay_ms=80.0) for s in range(4)], client_loop_lag_ms_p99=7.9), {}),
        (
            trial([a_delivery(seq=s, delay_ms=80.0) for s in range(4)], client_loop_lag_ms_p99=8.1),
            {"client_slow": NOTE},
        ),
        (trial(client_loop_lag_ms_p99=None), {}),
        (trial(rows(bound_ms=5.0)), {}),
        (trial(rows(bound_ms=5.1)), {"clock_wide": VOID}),
        (trial(rows(state=SampleState.WIDE_U)), {"clock_wide": VOID}),
        (trial(rows(state=SampleState.NO_CLOCK, bound_ms=None)), {"clock_wide": VOID}),
        (trial(rows(delay_ms=-0.04, bound_ms=0.05)), {}),
        (trial(rows(delay_ms=-0.06, bound_ms=0.05)), {"negative_delay": VOID}),
        (trial(rows(delay_ms=0.94, lag_ms=1.0, bound_ms=0.05)), {"negative_delay": VOID}),
        (trial(rows(state=SampleState.POLLING)), {"wrong_transport": VOID}),
        (trial(rows(state=SampleState.HIDDEN)), {"samples_left_out": NOTE}),
        (trial([a_delivery(seq=s, state=SampleState.HIDDEN) for s in range(4)]), {"samples_left_out": VOID}),
        (trial(rows(delay_ms=None)), {"lost_or_late": NOTE}),
        (trial(rows(outcome=Outcome.LATE)), {"lost_or_late": NOTE}),
        (trial(rows(kernel_delay_ms=None)), {"kernel_stamps_missing": NOTE}),
        (trial([a_delivery(seq=s) for s in range(4)]), {}),  # a platform without kernel stamps
        (trial(cpu=cpu_use(total_s=0.1, wall_s=1.0, is_ns=False)), {"cpu_coarse": NOTE}),
        # Limits on two cores in 1 s: note above 0.5 s, void above 1 s; 0.01 s are the clients'.
        (trial(cpu=cpu_use(total_s=0.1, wall_s=1.0, machine_busy_s=0.609)), {}),
        (trial(cpu=cpu_use(total_s=0.1, wall_s=1.0, machine_busy_s=0.612)), {"machine_busy": NOTE}),
        (trial(cpu=cpu_use(total_s=0.1, wall_s=1.0, machine_busy_s=1.109)), {"machine_busy": NOTE}),
        (trial(cpu=cpu_use(total_s=0.1, wall_s=1.0, machine_busy_s=1.112)), {"machine_busy": VOID}),
        (trial(cpu=cpu_use(total_s=0.1, wall_s=1.0, machine_busy_s=0.9), client_cpu_s=None), {}),
    ],
)
def test_a_trial_is_warned_of_exactly_what_is_wrong(
    record: TrialRecord, expected: dict[str, Severity]
) -> None:
    assert codes(record) == expected


def test_a_clock_that_is_not_known_has_no_widest_bound() -> None:
    (unknown,) = check_trial(
        trial([a_delivery(seq=s, state=SampleState.NO_CLOCK, bound_ms=None) for s in range(4)]), PLAN
    )[:1]
    (wide,) = check_trial(trial(rows(bound_ms=5.1)), PLAN)

    assert (unknown.code, unknown.variant, unknown.args.get("bound_ms")) == ("clock_wide", "", None)
    assert (wide.code, wide.variant, wide.args["bound_ms"]) == ("clock_wide", "widest", 5.1)


def test_loss_is_a_result_and_voids_nothing() -> None:
    assert is_valid(check_trial(trial([a_delivery(seq=s, delay_ms=None) for s in range(4)]), PLAN))


def test_an_idle_window_needs_no_notifications() -> None:
    assert codes(trial([], idle=True)) == {}
    assert codes(trial([], idle=True, disconnects=1)) == {"disconnected": VOID}


def test_a_broken_clock_shows_in_the_warm_up_too() -> None:
    early = a_delivery(delay_ms=-3.0, warmup=True, state=SampleState.WARMUP)

    assert "negative_delay" in codes(trial([early, *rows()]))


def test_what_only_the_runner_saw_is_kept_and_what_is_found_again_is_not_doubled() -> None:
    forced = TrialWarning("forced_publish", VOID)
    once = check_trial(trial(disconnects=1), PLAN)

    again = check_trial(trial(disconnects=1, warnings=(*once, forced)), PLAN)

    assert [warning.code for warning in again] == ["disconnected", "forced_publish"]
    assert again[0] == once[0]


def test_every_warning_is_a_sentence_with_a_next_step_and_a_known_code() -> None:
    bad = trial(
        rows(delay_ms=-9.0, bound_ms=6.0),
        published=1,
        disconnects=2,
        disturbances=1,
        source_lag_us=[9000],
        client_loop_lag_ms_p99=4.0,
        cpu=cpu_use(total_s=0.1, wall_s=1.0, machine_busy_s=1.9, is_ns=False),
    )

    found = check_trial(bad, PLAN)

    assert len(found) >= 8
    assert {warning.code for warning in found} <= OWN_CODES
    assert all(sentence.endswith(".") for warning in found for sentence in texts(warning).values())
    severities = [warning.severity for warning in found]
    assert severities == sorted(severities, key=[VOID, NOTE].index), "voiding ones come first"


def test_the_answer_is_the_same_each_time() -> None:
    run = RunMaker(alter=lambda record: replace(record, disturbances=1)).run()

    first = [check_trial(record, run.plan) for record in run.trials]
    stored = [replace(record, warnings=warnings) for record, warnings in zip(run.trials, first, strict=True)]

    assert [check_trial(record, run.plan) for record in stored] == first


@pytest.mark.parametrize(("missing", "expected"), [(2, set()), (3, {"kernel_stamps_missing"})])
def test_one_sample_in_a_hundred_may_be_without_its_kernel_stamp(missing: int, expected: set[str]) -> None:
    plan = a_plan(client_counts=(1,), notifications=200, warmup=0)
    given = [
        a_delivery(seq=seq, due_ms=seq * 50.0, delay_ms=1.03, kernel_delay_ms=None if seq < missing else 0.9)
        for seq in range(200)
    ]

    assert {each.code for each in check_trial(a_trial(given, plan=plan), plan)} == expected
