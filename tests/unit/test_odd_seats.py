"""Of a large trial some clients are looked at. Phones may sit on any seats: some of those that took part are, whichever."""

from __future__ import annotations

import pytest

from app.core.delivery import Delivery
from app.core.trial import TrialRecord
from app.lab.analysis.descriptive.arm_rows import SECONDS_DELIVERIES_MAX, thinned
from app.lab.analysis.validity.signatures import CHECKED_MAX, signatures
from tests.unit.support_run import a_delivery, a_plan, a_trial

PLAN = a_plan(client_counts=(3,))

ODD = (1, 3, 5)


def rows(clients: tuple[int, ...], count: int) -> list[Delivery]:
    """Stamps on whole milliseconds, by which a signature is seen."""
    return [
        a_delivery(client=client, seq=seq, due_ms=seq * 50.0, delay_ms=1.0 + seq % 3)
        for client in clients
        for seq in range(count)
    ]


def trial(clients: tuple[int, ...], count: int, *, participants: tuple[int, ...] = ()) -> TrialRecord:
    """Each of the clients got so many."""
    return a_trial(rows(clients, count), plan=PLAN, clients=len(clients), participants=participants)


def test_a_signature_is_seen_on_whichever_seats_phones_sit() -> None:
    found = signatures(trial(ODD, CHECKED_MAX // 3 + 1, participants=ODD), PLAN)

    assert [each.code for each in found] == ["signature_ms_clock"]


@pytest.mark.parametrize(
    ("clients", "participants", "count", "left"),
    [
        pytest.param(ODD, ODD, SECONDS_DELIVERIES_MAX // 3 + 1, {1, 5}, id="odd seats"),
        pytest.param((3,), (3,), SECONDS_DELIVERIES_MAX + 1, {3}, id="one alone", marks=pytest.mark.slow),
        pytest.param(
            (0, 1, 2), (), SECONDS_DELIVERIES_MAX // 3 + 1, {0, 2}, id="built-in", marks=pytest.mark.slow
        ),
        pytest.param(ODD, ODD, 3, {1, 3, 5}, id="few"),
    ],
)
def test_of_a_large_trial_every_so_many_th_client_is_left(
    clients: tuple[int, ...], participants: tuple[int, ...], count: int, left: set[int]
) -> None:
    found = thinned(trial(clients, count, participants=participants))

    assert {each.client for each in found.deliveries} == left
