"""The order of trials: random, balanced, and the same for the same seed."""

from typing import Any

import pytest

from app.core.errors import Malformed
from app.core.plan.scenario import (
    Arm,
    Plan,
    arm_plan,
    arms_from_names,
    plan_from_json,
    plan_sha256,
    plan_to_json,
    repeat_of,
    schedule,
    trial_s,
)
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


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("blocks", each) for each in (2.5, "2", True, None)),
        ("notifications", 5.5),
        ("client_counts", [1.5]),
        ("client_counts", 3),
        ("seed", [1]),
        ("rate_hz", "fast"),
        ("profile", 5),
        ("instrument", "yes"),
        ("arms", [{"name": 5, "transport": "sse"}]),
        ("arms", [{"name": "sse", "transport": "sse", "factors": ["via"]}]),
        *(
            ("arms", [{"name": "sse", "transport": "sse", "factors": each}])
            for each in ({"gap_s": 0}, {"gap_s": "long"}, {"gap_s": [1]}, {"payload_bytes": "large"})
        ),
    ],
)
def test_what_is_no_plan_is_refused_before_anybody_counts_with_it(field: str, value: object) -> None:
    """It may come out of an archive that somebody else made."""
    with pytest.raises(Malformed):
        plan_from_json({**plan_to_json(records.plan()), field: value})


@pytest.mark.parametrize("value", [None, 5, "plan", ["arms", 1]])
def test_what_is_no_object_is_no_plan(value: Any) -> None:
    with pytest.raises(Malformed):
        plan_from_json(value)


def test_a_whole_number_is_a_number_in_a_plan() -> None:
    assert plan_from_json({**plan_to_json(records.plan()), "rate_hz": 5, "drain_s": 2}).rate_hz == 5


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


@pytest.mark.parametrize(
    ("member", "least", "most", "step"),
    [
        ("blocks", 1, 1000, 1),
        ("notifications", 1, 100_000, 1),
        ("warmup_notifications", 0, 10_000, 1),
        ("rate_hz", 0.01, 1000, 0.001),
        ("payload_bytes", 256, 16_384, 1),
        ("idle_s", 0, 600, 0.001),
        ("settle_s", 0.03, 60, 0.001),
        ("drain_s", 0.1, 60, 0.001),
        ("extra_blocks_max", 0, 100, 1),
    ],
)
def test_a_plan_goes_up_to_its_limits_and_no_further(
    member: str, least: float, most: float, step: float
) -> None:
    assert [getattr(records.plan(**{member: value}), member) for value in (least, most)] == [least, most]
    for value in (least - step, most + step):
        with pytest.raises(Malformed):
            records.plan(**{member: value})


def test_a_count_of_clients_goes_up_to_its_limit_and_no_further() -> None:
    assert records.plan(client_counts=(1, 20_000)).client_counts == (1, 20_000)
    with pytest.raises(Malformed):
        records.plan(client_counts=(1, 20_001))


def test_what_a_plan_leaves_open_is_as_the_demo_has_it() -> None:
    """Stored plans name every member, so that these are for whoever writes a plan by hand."""
    plan = records.plan()

    assert (plan.idle_s, plan.settle_s, plan.drain_s) == (0.4, 0.1, 5.0)
    assert (plan.extra_blocks_max, plan.environment, plan.instrument) == (3, "loopback", False)


def test_a_trial_lasts_from_readiness_to_its_last_notification() -> None:
    plan = records.plan(settle_s=0.5, warmup_notifications=2, notifications=8, rate_hz=4.0)

    assert trial_s(plan, plan.arms[0]) == pytest.approx(0.5 + 10 / 4)
    assert trial_s(plan, Arm("slow", "sse", {"gap_s": 2.0})) == pytest.approx(0.5 + 10 * 2.0)


def test_an_arm_s_factors_change_its_plan_and_nobody_else_s() -> None:
    plan = records.plan()
    heavy: Plan = arm_plan(plan, Arm("heavy", "sse", {"payload_bytes": 4096, "gap_s": 0.5}))

    assert (heavy.payload_bytes, heavy.rate_hz) == (4096, 2.0)
    assert arm_plan(plan, plan.arms[0]) is plan
