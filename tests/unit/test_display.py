"""Display delays are of measured notifications: warm-up counts nowhere, not here either."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from app.core.trial import TrialRecord
from app.lab.analysis.analyse import analyse
from app.lab.analysis.descriptive.arm_rows import descriptive_rows
from app.lab.analysis.descriptive.display import display_rows
from app.store.store import ClientBatch, RunHead, Store
from tests.unit.support_run import RunMaker, a_plan, a_trial


def painted(display_ms: float, *, state: str | None = "ok") -> dict[str, object]:
    return {
        "id": "e.1",
        "transport": "sse",
        "outcome": "on_time",
        "state": state,
        "visible": True,
        "received_client_us": 1000.0,
        "displayed_client_us": 1000.0 + display_ms * 1000,
    }


SAMPLES = (
    painted(99.0, state="warmup"),
    painted(8.0),
    painted(9.0, state="no_clock"),
    painted(10.0, state=None),
)
"""A page that has just connected paints slowly. What its clock is worth does not matter: both stamps are the page's."""


def test_a_trial_s_display_delays_are_without_those_of_its_warm_up(tmp_path: Path) -> None:
    plan = a_plan()
    with Store.create(tmp_path / "run", RunHead("run", "2026-01-01T00:00:00Z", plan, {})) as store:
        store.add_trial(a_trial(plan=plan))
        store.add_batches([ClientBatch("phone", "b1", 5, samples=SAMPLES, trial=0)])

    with Store.open(tmp_path / "run") as store:
        (trial,) = store.load().trials

    assert list(trial.display_ms) == [8.0, 9.0, 10.0]


def test_what_is_said_of_a_transport_is_without_its_warm_up() -> None:
    (row,) = display_rows({**each, "device": "d-1"} for each in SAMPLES)

    assert (row.painted, row.unpainted, row.display_ms_p50) == (3, 0, 9.0)


@pytest.mark.parametrize(("notifications", "p95_ms"), [(50, 40.0), (49, None)])
def test_the_p95_of_display_needs_a_hundred_measured_notifications(
    notifications: int, p95_ms: float | None
) -> None:
    def shown(record: TrialRecord) -> TrialRecord:
        return record if record.spec.idle else replace(record, display_ms=[8.0, 10.0, 40.0])

    plan = a_plan(client_counts=(1,), blocks=2, notifications=notifications, warmup=2)
    (row, _) = descriptive_rows(analyse(RunMaker(plan, alter=shown).run()))

    assert row.display_ms_p95 == p95_ms
