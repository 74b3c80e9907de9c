"""Who is waited for in a run with phones."""

from __future__ import annotations

from typing import Any

import pytest

from app.experiment.party import HEARD_US_MAX, MISSED_MAX, Party, Phone

NOW_US = 1_000_000_000


def room(**changes: Any) -> dict[str, Any]:
    """Of one phone, as `GET /api/room` tells it."""
    row = {"device": "d-1", "removed": False, "left": False, "visible": True, "last_seen_us": NOW_US}
    return {"server_us": NOW_US, "participants": [row | changes]}


@pytest.fixture
def party() -> Party:
    """One whose only phone has missed as many rounds as it may."""
    missing = Party([Phone(0, "d-1", "Red Gecko", None)], seed=1)
    for _ in range(MISSED_MAX):
        list(missing.note_trial([0], [0]))
    assert missing.present == []
    return missing


def test_a_phone_that_missed_its_rounds_is_back_when_it_is_heard_of_and_looked_at(party: Party) -> None:
    said = list(party.look(room()))

    assert party.present == [0]
    assert said == ["Red Gecko (P1) is back."]


@pytest.mark.parametrize(
    "changes",
    [{"visible": False}, {"last_seen_us": NOW_US - HEARD_US_MAX}, {"left": True}, {"removed": True}],
)
def test_a_phone_that_is_hidden_silent_or_away_is_not_waited_for(
    party: Party, changes: dict[str, Any]
) -> None:
    said = list(party.look(room(**changes)))

    assert party.present == []
    assert said == []
