"""What the analysis makes of trials with phones: their conduct, their turns, and how the screen sees them."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from app.core.delivery import Delivery, SampleState
from app.core.lifecycle import LifecycleReport
from app.core.plan.scenario import TrialSpec
from app.core.trial import RunRecord, Severity, TrialRecord
from app.i18n import text
from app.lab.analysis.analyse import analyse
from app.lab.analysis.descriptive.bands import Bands
from app.lab.analysis.headline import headline
from app.lab.analysis.validity.checks import check_trial
from app.lab.report.contents.result_tables import phones_table
from app.lab.report.data.phone_results import phone_result, write_participants
from app.lab.report.renderers.html import report_html
from app.lab.report.statements import counts_sentence
from app.lab.run.room_run import result_table
from tests.unit.support_run import RunMaker, a_delivery, a_plan, a_trial, cpu_use

PLAN = a_plan(client_counts=(1, 2), notifications=4, warmup=0, environment="lan")

VOID, NOTE = Severity.VOID, Severity.NOTE


def conduct(client: int, **changes: object) -> LifecycleReport:
    return LifecycleReport(**{"client": client, "expected_count": 4, "received_count": 4, **changes})  # type: ignore[arg-type]


def rows(*clients: int, **changes: object) -> list[Delivery]:
    return [
        a_delivery(client=client, seq=seq, due_ms=50.0 * seq, **changes)  # type: ignore[arg-type]
        for client in clients
        for seq in range(4)
    ]


def phones_trial(
    deliveries: list[Delivery],
    *conducts: LifecycleReport,
    participants: tuple[int, ...] = (1, 4),
    **changes: object,
) -> TrialRecord:
    return a_trial(
        deliveries,
        plan=PLAN,
        clients=len(participants),
        participants=participants,
        lifecycle_reports=conducts,
        client_loop_lag_ms_p99=None,
        client_cpu_s=None,
        **changes,  # type: ignore[arg-type]
    )


GOOD = conduct(1), conduct(4)


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (phones_trial(rows(1, 4), *GOOD), {}),
        (phones_trial(rows(1, 4), conduct(1)), {"phone_silent": VOID}),
        (phones_trial(rows(1, 4), conduct(1, hidden_ms=1.0), conduct(4)), {"asleep": VOID}),
        (phones_trial(rows(1, 4), conduct(1, frozen_ms=1.0), conduct(4)), {"asleep": VOID}),
        (phones_trial(rows(1, 4), conduct(1), conduct(4, suspended_ms=9.0)), {"asleep": VOID}),
        (phones_trial(rows(1, 4), conduct(1, events=((5.0, "reload"),)), conduct(4)), {"reloaded": VOID}),
        (phones_trial(rows(1, 4), conduct(1, clock_steps=1), conduct(4)), {"clock_step": VOID}),
        (
            phones_trial(rows(1, 4), conduct(1, disconnects=1), conduct(4), disconnects=1),
            {"disconnected": VOID},
        ),
        (
            phones_trial([*rows(1), *rows(4)[:3], a_delivery(client=4, seq=3, delay_ms=None)], *GOOD),
            {"samples_missing": VOID, "lost_or_late": NOTE},
        ),
        (
            phones_trial(
                [*rows(1), *rows(4)[:3], a_delivery(client=4, seq=3, delay_ms=None)],
                conduct(1),
                conduct(4, received_count=3),
            ),
            {"lost_or_late": NOTE},
        ),
        (phones_trial([*rows(1), *rows(4, state=SampleState.WIDE_U)], *GOOD), {"clock_wide": NOTE}),
        (phones_trial(rows(1, 4, state=SampleState.WIDE_U), *GOOD), {"clock_wide": VOID}),
    ],
    ids=str,
)
def test_what_a_phone_says_of_itself_decides_whether_its_trial_counts(
    record: TrialRecord, expected: dict[str, Severity]
) -> None:
    assert {each.code: each.severity for each in check_trial(record, PLAN)} == expected


def test_a_trial_that_never_began_lost_nothing() -> None:
    record = phones_trial([], published=0, completed=False, source_lag_us=())

    analysis = analyse(replace(run_with_phones(), trials=(record,)))

    assert (analysis.totals.expected, analysis.totals.lost, analysis.totals.void) == (0, 0, 1)


def run_with_phones(**changes: object) -> RunRecord:
    """Eight blocks in which phones 2 and 3 take turns where one is wanted."""

    def with_phones(record: TrialRecord) -> TrialRecord:
        spec = record.spec
        taken = (1 + spec.block % 2,) if spec.clients == 1 else (1, 2)
        deliveries = tuple(replace(each, client=taken[each.client]) for each in record.deliveries)
        said = tuple(conduct(client, received_count=len(deliveries) // len(taken)) for client in taken)
        return replace(
            record, deliveries=deliveries, participants=taken, lifecycle_reports=() if spec.idle else said
        )

    run = RunMaker(a_plan(client_counts=(1, 2), environment="lan"), alter=with_phones).run()
    phones = [
        {"client": 1, "pseudonym": "P2", "model": "Pixel 7"},
        {"client": 2, "pseudonym": "P3", "model": None},
    ]
    return replace(
        run,
        simulated=False,
        conditions={**run.conditions, "participants": phones},
        **changes,  # type: ignore[arg-type]
    )


def test_phones_that_take_turns_are_told_apart_by_their_seats() -> None:
    row = analyse(run_with_phones()).summary[0]

    assert row.clients == 1
    assert [each.mean_ms is not None for each in row.client_means] == [False, True, True]


def test_a_report_says_phones_and_who_took_part() -> None:
    analysis = analyse(run_with_phones())

    page = report_html(analysis)

    assert "2 phones" in text(counts_sentence(analysis), "en")
    assert "at 2 phones" in page
    assert "Pixel 7" in page
    assert "built-in" not in page
    assert "pada 2 ponsel" in text(headline(analysis).sentence, "id")


def test_trials_in_which_a_phone_did_not_answer_are_void_by_it_and_by_no_other() -> None:
    run = run_with_phones()

    def silenced(record: TrialRecord) -> TrialRecord:
        is_silent = record.spec.clients == 2 and record.spec.block < 3
        return replace(record, lifecycle_reports=record.lifecycle_reports[:1]) if is_silent else record

    table = phones_table(analyse(replace(run, trials=tuple(map(silenced, run.trials)))))

    assert table is not None
    # Three blocks of two arms; the second phone said nothing.
    assert [(row[0], row[-1]) for row in table.rows] == [("P2", 0), ("P3", 6)]


def test_names_are_for_this_user_only_from_the_first_byte_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the process ends before it could have taken a right away."""
    monkeypatch.setattr(os, "chmod", lambda *_: None)

    write_participants(tmp_path, [{"pseudonym": "P1", "name": "Siti"}])

    assert (tmp_path / "participants.json").stat().st_mode & 0o777 == 0o600


def test_a_count_that_only_came_about_when_a_phone_left_has_its_own_row() -> None:
    run = run_with_phones()
    trials = [
        replace(each, spec=replace(each.spec, clients=3))
        if each.spec.clients == 2 and each.spec.block == 0
        else each
        for each in run.trials
    ]

    analysis = analyse(replace(run, trials=tuple(trials)))

    assert analysis.client_counts == (1, 2, 3)
    assert report_html(analysis)


def test_a_phone_s_own_result_holds_what_it_measured_and_nothing_of_the_others() -> None:
    analysis = analyse(run_with_phones())

    result = phone_result(analysis, 1, {"code": "undecided"})

    assert result["pseudonym"] == "P2"
    assert result["verdict"] == {"code": "undecided"}
    for arm in result["arms"]:
        assert arm["trials"] == 4 + 8
        assert arm["delay_ms_p25"] <= arm["delay_ms_p50"] <= arm["delay_ms_p75"]
        assert (arm["on_time"], arm["lost"], arm["asleep"]) == (12 * 20, 0, 0)


def test_the_big_screen_s_table_is_headed_in_both_languages() -> None:
    table = result_table(analyse(run_with_phones()))

    assert table["headings"] == [
        *("transport", "phones", "median ms", "p95 ms", "CPU µs per delivery"),
        *("delivered", "late", "lost", "blocks"),
    ]
    assert table["headings_id"] == [
        *("cara kirim", "ponsel", "median ms", "p95 ms", "CPU µs per kiriman"),
        *("sampai", "terlambat", "hilang", "blok"),
    ]
    assert {len(row) for row in table["rows"]} == {len(table["headings"])}


@pytest.mark.parametrize("idle_first", [True, False])
def test_bands_take_idling_off_whether_it_was_measured_before_the_trial_or_after(idle_first: bool) -> None:
    """The idle window of a block stands before one of its arms, which may be the last."""
    trial = phones_trial(rows(1, 4), *GOOD, cpu=cpu_use(total_s=0.0811))
    idle = a_trial(plan=PLAN, clients=2, index=1, idle=True, cpu=cpu_use(total_s=0.0011))
    bands = Bands(PLAN)
    for record in (idle, trial) if idle_first else (trial, idle):
        bands.add(record, is_void=False)

    # 81.1 ms less the 1.1 ms of idling in as long a window, over 8 deliveries.
    assert bands.cells()["sse"]["2"]["cpu_us_per_delivery"] == pytest.approx(10_000)


def test_bands_leave_void_blocks_out_and_count_who_slept() -> None:
    bands = Bands(PLAN)
    good = phones_trial(rows(1, 4), *GOOD)
    asleep = phones_trial(rows(1, 4, delay_ms=90.0), conduct(1, hidden_ms=5.0), conduct(4), block=1)

    bands.add(good, is_void=False)
    bands.add(asleep, is_void=True)
    bands.add(
        replace(good, spec=TrialSpec(3, 1, 2, PLAN.arms[1])), is_void=False
    )  # the other half of the void block

    cells = bands.cells()
    assert cells["sse"]["2"] == {
        "delay_ms_p50": pytest.approx(1.0),
        "delay_ms_p25": pytest.approx(1.0),
        "delay_ms_p75": pytest.approx(1.0),
        "cpu_us_per_delivery": None,
        "delivered": 8,
        "late": 0,
        "lost": 0,
        "asleep": 1,
        "blocks": 1,
    }
    assert cells["socketio"]["2"]["blocks"] == 0
