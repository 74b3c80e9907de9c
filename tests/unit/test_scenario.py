"""The order of trials: random, balanced, and the same for the same seed."""

import pytest

from app.core.errors import Malformed
from app.core.scenario import arms_from_names, plan_from_json, plan_sha256, plan_to_json, repeat_of, schedule
from tests.support import records


def order(**changes: object) -> list[tuple[int, int, tuple[str, ...], str]]:
    return [
        (block.clients, block.block, tuple(arm.name for arm in block.arms), block.idle_arm.name)
        for block in schedule(records.plan(**changes))
    ]


def test_the_same_seed_gives_the_same_order_and_another_seed_another() -> None:
    assert order(seed=1, blocks=8) == order(seed=1, blocks=8)
    assert order(seed=1, blocks=8) != order(seed=2, blocks=8)


def test_the_order_of_a_seed_is_fixed_for_ever() -> None:
    """A change here would make old seeds mean another order: give the schedule a version first."""
    assert order(seed=1, client_counts=(1, 3)) == [
        (1, 0, ("socketio", "sse"), "sse"),
        (3, 0, ("sse", "socketio"), "socketio"),
        (3, 1, ("socketio", "sse"), "socketio"),
        (1, 1, ("sse", "socketio"), "socketio"),
    ]


def test_each_block_holds_every_arm_once_and_neighbours_are_mirrored() -> None:
    blocks = list(schedule(records.plan(blocks=8, client_counts=(1, 3, 6))))

    assert len(blocks) == 24
    for count in (1, 3, 6):
        of_count = [block.arms for block in blocks if block.clients == count]
        assert all({arm.name for arm in arms} == {"sse", "socketio"} for arms in of_count)
        assert all(of_count[i + 1] == of_count[i][::-1] for i in range(0, 8, 2))


def test_every_block_has_one_idle_window_with_an_arm_of_its_own() -> None:
    assert all(block.idle_arm in block.arms for block in schedule(records.plan(blocks=8)))


def test_a_void_block_is_repeated_in_its_order_under_a_new_number() -> None:
    block = next(schedule(records.plan()))

    again = repeat_of(block, block=8)

    assert (again.block, again.clients, again.arms, again.idle_arm) == (
        8,
        block.clients,
        block.arms,
        block.idle_arm,
    )


def test_a_plan_survives_the_way_through_json_and_its_hash_names_it() -> None:
    plan = records.plan()

    again = plan_from_json(plan_to_json(plan))

    assert again == plan
    assert plan_sha256(again) == plan_sha256(plan) != plan_sha256(records.plan(seed=8))


def test_a_plan_without_the_instrument_has_the_hash_that_it_had_before_there_was_one() -> None:
    plan = records.plan()

    assert "instrument" not in plan_to_json(plan)
    assert plan_from_json(plan_to_json(records.plan(instrument=True))).instrument is True
    assert plan_sha256(records.plan(instrument=True)) != plan_sha256(plan)


def test_the_same_transport_twice_is_an_a_a_run() -> None:
    assert [arm.name for arm in arms_from_names(["sse", "sse"])] == ["sse.1", "sse.2"]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"arms": ()}, "at least one arm"),
        ({"client_counts": (1, 1)}, "there twice"),
        ({"client_counts": (0,)}, "1 to 20000"),
        ({"rate_hz": float("nan")}, "rate"),
        ({"payload_bytes": 100}, "payload"),
        ({"environment": "moon"}, "loopback"),
    ],
)
def test_an_impossible_plan_is_refused_in_a_sentence(change: dict[str, object], sentence: str) -> None:
    with pytest.raises(Malformed, match=sentence):
        records.plan(**change)
