"""How a trial goes: what is recorded of it comes back, and what becomes of it."""

from __future__ import annotations

import csv
import io
import os
from dataclasses import replace
from pathlib import Path

import pytest

from app.core.timeline import CpuSecond, Opening, TrialTimeline, Upload
from app.core.trial import TrialRecord
from app.lab.analysis.analyse import Analysis, analyse
from app.lab.analysis.descriptive.arm_rows import DescriptiveRow, descriptive_rows
from app.lab.measure.cpu import CpuSampler
from app.lab.measure.cpu_seconds import cpu_seconds
from app.lab.report.data.csv_files import write_trials
from app.lab.report.data.result import result_json
from app.store.store import Store
from tests.support import records
from tests.unit.support_run import CLIENT_CLOCK_US, RunMaker, a_plan, a_trial
from tests.unit.test_store import head

SECONDS = (CpuSecond(0, 1.0, 0.1, 0.06, 0.3), CpuSecond(1, 1.0, 0.3, 0.02, 0.4))

COURSE = TrialTimeline(
    cpu_seconds=SECONDS,
    openings=(
        Opening(0, 0, 1_000.0, 1_500.0, 3_000.0, 4_000.0, None),
        Opening(1, 0, 1_000.0, None, None, None, 2_000.0),
    ),
    uploads=(Upload(0, 5_000.5, 9),),
)


def test_a_course_comes_back_the_same(tmp_path: Path) -> None:
    trials = tuple(
        replace(records.trial(index), timeline=course)
        for index, course in enumerate((COURSE, TrialTimeline(uploads_known=False), None))
    )

    with Store.create(tmp_path / "run", head()) as store:
        for trial in trials:
            store.add_trial(trial)

    with Store.open(tmp_path / "run") as store:
        assert store.load().trials == trials


def test_the_seconds_of_a_process_that_works_are_those_it_worked() -> None:
    edge = CpuSampler(os.getpid()).snapshot()

    with cpu_seconds(edge) as found:
        assert sum(range(2_000_000)) > 0

    assert [each.second for each in found] == list(range(len(found)))
    assert found, "however short it was, there is one"
    assert sum(each.process_s or 0.0 for each in found) > 0
    assert all(each.wall_s > 0 for each in found)


def test_without_processes_in_reach_there_are_no_seconds() -> None:
    with cpu_seconds(None) as found:
        pass

    assert found == []


def run_with(course: TrialTimeline, *, uploads: bool = True) -> Analysis:
    """Two arms with one client, 20 notifications a second for a second; the same course in each trial."""

    def with_course(record: TrialRecord) -> TrialRecord:
        return (
            record if record.spec.idle else replace(record, timeline=replace(course, uploads_known=uploads))
        )

    return analyse(RunMaker(a_plan(client_counts=(1,), blocks=2), alter=with_course).run())


def first_row(analysis: Analysis) -> DescriptiveRow:
    return descriptive_rows(analysis)[0]


def test_shares_per_second_are_of_all_cores() -> None:
    row = first_row(run_with(COURSE)).course

    assert (row.cpu_process_percent.seconds, row.cpu_process_percent.mean) == (4, pytest.approx(10.0))
    assert row.cpu_process_percent.max == pytest.approx(15.0)  # 0.3 s of a second on two cores
    assert row.cpu_kernel_percent.mean == pytest.approx(2.0)


def test_set_up_counts_from_the_call_to_connect_and_leaves_out_who_never_came_in() -> None:
    row = first_row(run_with(COURSE)).course

    assert row.connections == 2
    assert (row.connect_ms_p50, row.first_byte_ms_p50, row.setup_ms_p50) == (0.5, 2.0, 3.0)
    assert row.setup_ms_p95 is None, "two connections have no p95"


def test_a_connection_after_the_first_is_no_set_up_of_the_trial() -> None:
    again = Opening(0, 1, 500_000.0, 509_000.0, 519_000.0, 529_000.0, None)
    course = replace(COURSE, openings=(*COURSE.openings, again))

    shown = result_json(run_with(course))["trials"][0]["course"]

    assert (shown["connect_ms_p50"], shown["first_byte_ms_p50"], shown["setup_ms_p50"]) == (0.5, 2.0, 3.0)


def test_what_clients_sent_is_in_its_second_and_silence_is_zero() -> None:
    sent = replace(COURSE, uploads=(Upload(0, CLIENT_CLOCK_US + 300_000, 250),))

    row = first_row(run_with(sent))

    assert row.up_kbps.mean == pytest.approx(2.0)
    assert (row.up_kbps.zero_rate, row.up_kbps.missing_rate) == (0.0, 0.0)
    assert first_row(run_with(replace(sent, uploads=()))).up_kbps.zero_rate == 1.0


def test_clients_that_do_not_say_what_they_send_leave_it_blank() -> None:
    row = first_row(run_with(COURSE, uploads=False))

    assert row.up_kbps.missing_rate == 1.0
    assert row.up_kbps.zero_rate == 0.0
    assert row.both_zero_rate is None


def test_recovery_is_from_the_last_arrival_before_a_break_to_the_first_behind_it() -> None:
    lost_us = CLIENT_CLOCK_US + 520_000  # arrivals come every 50 ms
    broken = replace(COURSE, openings=(Opening(0, 0, 0.0, 1.0, 2.0, 3.0, lost_us),))

    row = first_row(run_with(broken)).course

    assert row.recovery_ms_p50 == pytest.approx(50.0, abs=2.0)


def test_each_trial_says_how_it_went_in_result_and_table() -> None:
    analysis = run_with(COURSE)

    trial = result_json(analysis)["trials"][0]
    file = io.StringIO()
    write_trials(analysis, file)

    assert (trial["course"]["setup_ms_p50"], trial["course"]["upload_bytes"]) == (3.0, 9)
    assert [each["second"] for each in trial["cpu_seconds"]] == [0, 1]
    rows = list(csv.DictReader(io.StringIO(file.getvalue())))
    assert {row["setup_ms_p50"] for row in rows if row["idle"] == "0"} == {"3"}
    assert {row["setup_ms_p50"] for row in rows if row["idle"] == "1"} == {""}


def test_a_run_of_before_has_none_of_it() -> None:
    row = first_row(analyse(RunMaker(a_plan(client_counts=(1,), blocks=2)).run()))

    assert (row.course.connections, row.course.setup_ms_p50, row.course.recovery_ms_p50) == (0, None, None)
    assert row.course.cpu_process_percent.mean is None
    assert row.up_kbps.mean is None


def test_a_trial_without_a_course_is_as_before() -> None:
    assert a_trial().timeline is None
