"""From what phones post to rows: the server knows when, the phone whether and how."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.core.delivery import Delivery, Lifecycle, Outcome, SampleState
from app.core.lifecycle import LifecycleReport
from app.core.plan.scenario import Arm
from app.lab.run.matching import Expected
from app.lab.run.phone_deliveries import Sample, lifecycle_reports_of, phone_deliveries

SSE = Arm("sse", "sse")
POLLING = Arm("polling first", "socketio", {"polling": True})

DUE_US = 1_000_000
EXPECTED = [
    Expected(0, True, DUE_US, 40, DUE_US + 100),
    Expected(1, False, DUE_US + 10_000, 41, DUE_US + 10_100),
]


def sample(offset: int = 41, **changes: Any) -> Sample:
    """An arrival 3 ms after it was due, on a clock that is 500 ms behind."""
    values = {
        "id": f"epoch.{offset}",
        "transport": "sse",
        "received_client_us": DUE_US + 10_000 * (offset - 40) + 3_000 - 500_000.0,
        "clock_offset_us": 500_000.0,
        "clock_bound_us": 900.0,
        "state": "ok",
        "outcome": "on_time",
        "visible": 1,
        "lifecycle": "visible",
    }
    return Sample(**{**values, **changes})


def rows(samples: list[Sample], arm: Arm = SSE, *, drain_s: float = 5.0) -> list[Delivery]:
    return list(phone_deliveries(arm, EXPECTED, {2: samples}, [2], drain_s=drain_s))


def test_the_server_says_when_it_was_due_and_the_phone_when_it_came() -> None:
    _, found = rows([sample()])

    assert (found.client, found.seq, found.due_us, found.sent_us) == (2, 1, DUE_US + 10_000, DUE_US + 10_100)
    assert found.delay_ms == 3.0
    assert (found.outcome, found.state, found.lifecycle) == (
        Outcome.ON_TIME,
        SampleState.OK,
        Lifecycle.VISIBLE,
    )


def test_what_nobody_posted_is_lost_and_a_second_arrival_an_extra_row() -> None:
    found = rows([sample(outcome="duplicate"), sample()])

    assert [(each.seq, each.outcome) for each in found] == [
        (0, Outcome.LOST),
        (1, Outcome.ON_TIME),
        (1, Outcome.DUPLICATE),
    ]


@pytest.mark.parametrize(
    ("changes", "state", "outcome"),
    [
        ({"lifecycle": "resumed"}, SampleState.OK, Outcome.LATE),
        ({"lifecycle": "frozen"}, SampleState.OK, Outcome.LATE),
        ({"received_client_us": DUE_US + 5_600_000 - 500_000.0}, SampleState.OK, Outcome.LATE),
        ({"outcome": "replayed", "state": "replay"}, SampleState.REPLAY, Outcome.REPLAYED),
        ({"state": "hidden", "visible": 0}, SampleState.HIDDEN, Outcome.ON_TIME),
        ({"transport": "socketio"}, SampleState.POLLING, Outcome.ON_TIME),
        ({"state": "polling"}, SampleState.POLLING, Outcome.ON_TIME),
        ({"clock_offset_us": None}, SampleState.NO_CLOCK, Outcome.ON_TIME),
        ({"clock_bound_us": 5_001.0}, SampleState.WIDE_U, Outcome.ON_TIME),
        ({"state": "epoch_break"}, SampleState.EPOCH_BREAK, Outcome.ON_TIME),
    ],
    ids=str,
)
def test_each_arrival_has_one_outcome_and_one_state(
    changes: dict[str, Any], state: SampleState, outcome: Outcome
) -> None:
    found = rows([sample(**changes)])[-1]

    assert (found.state, found.outcome) == (state, outcome)


def test_polling_is_no_fault_where_the_arm_asks_for_it() -> None:
    found = rows([sample(transport="socketio", state="polling")], POLLING)[-1]

    assert found.state is SampleState.OK


def test_an_arrival_without_a_lifecycle_has_that_of_its_visibility() -> None:
    assert rows([sample(lifecycle=None, visible=0, state="hidden")])[-1].lifecycle is Lifecycle.HIDDEN


def test_the_last_word_of_a_phone_counts_and_a_stranger_s_does_not() -> None:
    def batch(device: str, **said: Any) -> dict[str, Any]:
        return {"device": device, "conduct": json.dumps(said) if said else None}

    found = lifecycle_reports_of(
        [
            batch("d-1", frozen_ms=10, received_count=3),
            batch("d-1"),
            batch("d-1", frozen_ms=20, received_count=5, events=[[7.5, "freeze"]]),
            batch("d-9", frozen_ms=99),
        ],
        {"d-1": 2},
    )

    assert found == (LifecycleReport(2, frozen_ms=20.0, received_count=5, events=((7.5, "freeze"),)),)
