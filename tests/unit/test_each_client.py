"""Figures of each client: they are the trial's own, of what that client received."""

from __future__ import annotations

import csv
import io
from dataclasses import asdict, replace

import pytest

from app.core.delivery import Outcome
from app.core.plan.scenario import arm_plan
from app.lab.analysis.analyse import Analysis, analyse
from app.lab.analysis.metrics.each_client import each_client
from app.lab.report.data.client_rows import CLIENT_COLUMNS
from app.lab.report.data.csv_files import write_clients, write_trials
from tests.support import row_by_row
from tests.support.wild import wild_plan, wild_trials
from tests.unit.support_run import RunMaker, a_plan


@pytest.fixture(scope="module")
def analysis() -> Analysis:
    return analyse(RunMaker(a_plan(client_counts=(1, 3), blocks=2, notifications=100)).run())


def test_clients_together_make_up_the_trial(analysis: Analysis) -> None:
    for trial in analysis.trials:
        found = list(each_client(trial.record, arm_plan(analysis.run.plan, trial.record.spec.arm)))

        metrics = [each.metrics for each in found]
        assert [each.client for each in found] == list(range(trial.record.spec.clients))
        for name in ("expected", "delivered", "lost", "late", "duplicates", "out_of_order", "samples"):
            assert sum(getattr(each, name) for each in metrics) == getattr(trial.metrics, name)
        assert tuple(each.delay_ms.mean for each in metrics) == trial.metrics.client_means_ms
        assert max(each.delay_ms.max or 0 for each in metrics) == trial.metrics.delay_ms.max


def test_of_a_trial_with_one_client_its_figures_are_the_trial_s(analysis: Analysis) -> None:
    trial = next(each for each in analysis.trials if each.record.spec.clients == 1)

    (only,) = each_client(trial.record, arm_plan(analysis.run.plan, trial.record.spec.arm))

    alike = replace(
        only.metrics,
        source_lag_ms_p99=trial.metrics.source_lag_ms_p99,
        client_means_ms=trial.metrics.client_means_ms,
    )
    assert alike == trial.metrics


def test_to_the_last_digit_they_are_those_of_its_own_rows_alone() -> None:
    plan = wild_plan()
    for trial in (each for seed in range(3) for each in wild_trials(seed, plan)):
        for found in each_client(trial, plan):
            own = [replace(each, client=0) for each in trial.deliveries if each.client == found.client]
            alone = replace(trial, deliveries=own)

            for expected, figures in (
                (row_by_row.metrics(alone), asdict(found.metrics)),
                (row_by_row.arrivals(alone), asdict(found.arrivals)),
            ):
                assert {name: figures[name] for name in expected} == expected


def test_a_client_that_received_nothing_has_a_row_that_says_so(analysis: Analysis) -> None:
    trial = next(each for each in analysis.trials if each.record.spec.clients == 3)
    lost = [
        replace(each, outcome=Outcome.LOST, received_client_us=None, kernel_received_us=None)
        if each.client == 1
        else each
        for each in trial.record.deliveries
    ]
    plan = arm_plan(analysis.run.plan, trial.record.spec.arm)

    _, silent, _ = each_client(replace(trial.record, deliveries=lost), plan)

    assert (silent.metrics.expected, silent.metrics.lost, silent.metrics.samples) == (100, 100, 0)
    assert (silent.arrivals.missing_share, silent.metrics.delay_ms.p50) == (1.0, None)
    others = [each for each in lost if each.client != 1]
    assert list(each_client(replace(trial.record, deliveries=others), plan))[1].metrics.lost == 100


def test_the_table_has_a_row_for_each_client_of_each_trial_and_only_known_columns(analysis: Analysis) -> None:
    file = io.StringIO()

    write_clients(analysis, file)

    rows = list(csv.DictReader(io.StringIO(file.getvalue())))
    assert len(rows) == sum(trial.record.spec.clients for trial in analysis.trials)
    assert all(row.keys() == CLIENT_COLUMNS.keys() for row in rows)
    assert {row["client"] for row in rows if row["clients"] == "3"} == {"0", "1", "2"}
    assert "nan" not in file.getvalue()
    first = analysis.trials[0]
    assert float(rows[0]["delay_ms_mean"]) == pytest.approx(first.metrics.client_means_ms[0], abs=1e-6)


def test_the_table_of_trials_has_what_the_table_of_clients_adds_up_to(analysis: Analysis) -> None:
    trials, clients = io.StringIO(), io.StringIO()
    write_trials(analysis, trials)
    write_clients(analysis, clients)

    rows = [row for row in csv.DictReader(io.StringIO(trials.getvalue())) if row["idle"] == "0"]
    by_client = list(csv.DictReader(io.StringIO(clients.getvalue())))
    for row in rows:
        own = [each for each in by_client if each["trial"] == row["trial"]]
        for name in ("gaps_over_2s", "gaps_over_5s", "spikes_over_500ms", "delivered"):
            assert sum(int(each[name]) for each in own) == int(row[name])
        assert float(row["interval_ms_max"]) == max(float(each["interval_ms_max"]) for each in own)
        assert float(row["delay_from_sent_ms_p50"]) < float(row["delay_ms_p50"]) + 1e-6
        assert row["display_ms_p50"] == ""
