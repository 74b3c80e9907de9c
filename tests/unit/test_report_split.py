"""Where a delay was spent, in every output; where nothing was recorded, nothing is claimed."""

from __future__ import annotations

import csv
import io
from functools import partial

import pytest
from rich.console import Console

from app.lab.analysis.analyse import Analysis, analyse
from app.lab.report.data.csv_files import write_deliveries, write_trials
from app.lab.report.data.result import result_json
from app.lab.report.renderers.console.result import print_details
from app.lab.report.renderers.html import report_html
from tests.support.records import recorded
from tests.unit.support_run import RunMaker, a_plan

SERVER_US = 150
"""From sent to the kernel, for client 0; 10 us more for each further one."""

HEADING = "Where the delay was spent"


@pytest.fixture(scope="module")
def with_split() -> Analysis:
    plan = a_plan(client_counts=(3,))
    return analyse(RunMaker(plan, alter=partial(recorded, server_us=SERVER_US, step_us=10)).run())


@pytest.fixture(scope="module")
def without_split() -> Analysis:
    return analyse(RunMaker(a_plan(client_counts=(3,))).run())


def printed(analysis: Analysis) -> str:
    output = io.StringIO()
    print_details(analysis, Console(file=output, width=80, highlight=False))
    return output.getvalue()


def test_result_json_has_the_parts_of_each_trial_and_of_each_row(with_split: Analysis) -> None:
    result = result_json(with_split)

    assert all(trial["split"]["server_ms"]["p50"] == pytest.approx(0.16) for trial in result["trials"])
    assert all(row["split"]["server_ms_p50"] == pytest.approx(0.16) for row in result["summary"])
    assert all(row["split"]["spread_ms_p50"] == pytest.approx(0.02) for row in result["summary"])


def test_terminal_and_report_show_the_parts(with_split: Analysis) -> None:
    text, page = printed(with_split), report_html(with_split)

    assert HEADING in text
    assert all(len(line) <= 80 for line in text.splitlines() if not line.startswith("Run"))
    assert HEADING in page
    assert page.count("0.160") >= 2


def test_csv_files_have_the_time_and_the_place_of_each_delivery(with_split: Analysis) -> None:
    deliveries, trials = io.StringIO(), io.StringIO()
    write_deliveries(with_split, deliveries)
    write_trials(with_split, trials)

    rows = list(csv.DictReader(io.StringIO(deliveries.getvalue())))
    assert all(row["place"] == row["client"] for row in rows)
    assert all(
        int(row["accepted_us"]) - int(row["sent_us"]) == SERVER_US + 10 * int(row["client"]) for row in rows
    )
    measured = [row for row in csv.DictReader(io.StringIO(trials.getvalue())) if row["idle"] == "0"]
    assert {row["server_ms_p50"] for row in measured} == {"0.16"}


def test_where_nothing_was_recorded_nothing_is_claimed(without_split: Analysis) -> None:
    result = result_json(without_split)
    deliveries = io.StringIO()
    write_deliveries(without_split, deliveries)

    assert {trial["split"] for trial in result["trials"]} == {None}
    assert {row["split"] for row in result["summary"]} == {None}
    assert HEADING not in printed(without_split)
    assert HEADING not in report_html(without_split)
    rows = csv.DictReader(io.StringIO(deliveries.getvalue()))
    assert {(row["accepted_us"], row["place"]) for row in rows} == {("", "")}
