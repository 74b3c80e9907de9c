"""Who takes part in a run with phones: those who miss rounds, leave, and come back."""

from __future__ import annotations

from typing import Any

from app.core.plan.scenario import BlockSpec, arms_from_names
from app.lab.run.participant_pool import MISSED_MAX, ParticipantPool, Phone, phones_of

ARMS = arms_from_names(["sse", "socketio"])

NOW_US = 100_000_000


def row(seat: int, **changes: Any) -> dict[str, Any]:
    values = {
        "device": f"d-{seat}",
        "seat": seat,
        "name": f"Phone {seat}",
        "model": None,
        "taking_part": True,
        "removed": False,
        "left": False,
        "visible": True,
        "last_seen_us": NOW_US - 60_000_000,
    }
    return {**values, **changes}


def room(*rows: dict[str, Any]) -> dict[str, Any]:
    return {"server_us": NOW_US, "participants": list(rows)}


def party(*seats: int) -> ParticipantPool:
    return ParticipantPool(phones_of(room(*map(row, seats))), seed=1)


def block(clients: int, number: int = 0) -> BlockSpec:
    return BlockSpec(number, clients, ARMS, ARMS[0], replaces=number)


def test_those_who_were_ready_take_part_by_their_seats() -> None:
    found = phones_of(room(row(1), row(2, taking_part=False), row(3, removed=True), row(5)))

    assert found == [Phone(0, "d-1", "Phone 1", None), Phone(4, "d-5", "Phone 5", None)]
    assert [each.pseudonym for each in found] == ["P1", "P5"]


def test_one_that_misses_two_rounds_in_a_row_is_no_longer_waited_for() -> None:
    found = party(1, 2, 3)

    said = [sentence for _ in range(MISSED_MAX) for sentence in found.note_trial([0, 1, 2], [1])]

    assert found.present == [0, 2]
    assert len(said) == 1
    assert "Phone 2 (P2)" in said[0]
    assert set(found.chosen(block(3))) == {0, 2}


def test_a_round_that_it_took_part_in_makes_good_for_one_that_it_missed() -> None:
    found = party(1, 2)

    for missing in ([1], [], [1]):
        list(found.note_trial([0, 1], missing))

    assert found.present == [0, 1]


def test_one_that_is_heard_of_again_is_back() -> None:
    found = party(1, 2)
    for _ in range(MISSED_MAX):
        list(found.note_trial([0, 1], [1]))

    asking_but_hidden = row(2, visible=False, last_seen_us=NOW_US)
    assert list(found.update(room(row(1), row(2)))) == []
    assert list(found.update(room(row(1), asking_but_hidden))) == []
    assert found.present == [0]
    (said,) = found.update(room(row(1), row(2, last_seen_us=NOW_US - 500_000)))

    assert "is back" in said
    assert found.present == [0, 1]


def test_one_that_left_or_was_removed_is_out_until_it_joins_again() -> None:
    found = party(1, 2, 3)
    gone = room(row(1), row(2, left=True, last_seen_us=NOW_US), row(3, removed=True, last_seen_us=NOW_US))

    assert len(list(found.update(gone))) == 2
    assert list(found.update(gone)) == []
    assert (found.present, found.is_out(gone, 1), found.is_out(gone, 0)) == ([0], True, False)

    list(found.update(room(row(1), row(2, last_seen_us=NOW_US))))
    assert found.present == [0, 1]


def test_a_repeated_block_has_the_phones_of_the_block_that_it_stands_for() -> None:
    found = party(1, 2, 3, 4)
    planned = block(2, number=1)

    repeated = BlockSpec(8, 2, ARMS, ARMS[0], replaces=1)

    assert found.chosen(repeated) == found.chosen(planned)
