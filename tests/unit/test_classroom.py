"""Plans for phones."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from app.core.errors import Malformed
from app.core.plan.classroom import (
    LENGTH_S_MAX,
    classroom_plan,
    length_s,
    length_s_max,
    phone_counts,
    with_phones,
)
from app.core.plan.scenario import Arm, arm_plan, arms_from_names
from app.store.plans import PHONE_NOTIFICATIONS_MAX, check_for_built_in, check_for_phones

STATIC = Path(__file__).resolve().parents[2] / "static"


@pytest.mark.parametrize(
    ("phones", "counts"),
    [(1, (1,)), (2, (1, 2)), (3, (1, 2, 3)), (5, (1, 3, 5)), (6, (1, 3, 6)), (30, (1, 15, 30))],
)
def test_one_about_half_and_all_take_part(phones: int, counts: tuple[int, ...]) -> None:
    assert phone_counts(phones) == counts


@pytest.mark.parametrize("phones", [1, 2, 6, 30])
def test_a_classroom_takes_at_most_twelve_minutes_with_room_for_repeats(phones: int) -> None:
    plan = classroom_plan(phones, seed=1)

    assert length_s(plan) <= 0.85 * LENGTH_S_MAX
    assert plan.blocks == 8
    assert plan.notifications >= 30
    check_for_phones(plan)


@pytest.mark.parametrize("planned", range(1, 13))
def test_it_ends_within_twelve_minutes_whoever_comes_and_however_much_is_repeated(planned: int) -> None:
    plan = classroom_plan(planned, seed=1)
    assert 1 <= plan.extra_blocks_max <= 6

    for there in range(1, 13):
        found = with_phones(plan, there)

        assert length_s_max(found) <= LENGTH_S_MAX, (planned, there)
        assert max(found.client_counts) == there


def test_where_there_is_no_time_to_measure_more_counts_phones_take_turns() -> None:
    plan = classroom_plan(2, seed=1, arms=["sse"] * 10)
    with pytest.raises(Malformed, match="do not fit"):
        classroom_plan(3, seed=1, arms=["sse"] * 10)

    assert with_phones(plan, 3) == plan


def test_more_arms_leave_fewer_notifications_and_too_many_do_not_fit() -> None:
    four = arms_from_names(["sse", "socketio", "sse", "socketio"])

    assert length_s(classroom_plan(6, seed=1, arms=four)) <= 0.85 * LENGTH_S_MAX
    with pytest.raises(Malformed, match="do not fit"):
        classroom_plan(6, seed=1, arms=["sse"] * 16)


@pytest.mark.parametrize(
    ("planned", "there", "counts"),
    [(6, 6, (1, 3, 6)), (6, 4, (1, 2, 4)), (6, 8, (1, 4, 8)), (6, 1, (1,))],
)
def test_a_classroom_is_fitted_to_who_came(planned: int, there: int, counts: tuple[int, ...]) -> None:
    assert with_phones(classroom_plan(planned, seed=1), there).client_counts == counts


def test_another_plan_keeps_its_counts_where_more_came() -> None:
    plan = replace(classroom_plan(6, seed=1), profile="study")

    assert with_phones(plan, 9).client_counts == (1, 3, 6)


def test_an_arm_has_its_own_payload_and_gap() -> None:
    arms = (Arm("rare", "sse", {"gap_s": 5, "payload_bytes": 1024}), Arm("socketio", "socketio"))
    plan = replace(classroom_plan(2, seed=1), arms=arms)

    rare, usual = (arm_plan(plan, arm) for arm in plan.arms)

    assert (rare.rate_hz, rare.payload_bytes) == (0.2, 1024)
    assert usual == plan


@pytest.mark.parametrize(
    ("factors", "sentence"),
    [
        ({"via": "http://127.0.0.1:9"}, "does nothing with phones"),
        ({"radio": "on"}, '"warm" or "idle"'),
        ({"polling": True}, "is Socket.IO's"),
        ({"polling": 1}, "true or false"),
        ({"compression": "gzip"}, "true or false"),
        ({"payload_bytes": 100}, "256 to 16384"),
        ({"gap_s": 0}, "0.001 to 60"),
        ({"colour": "red"}, "no factor"),
    ],
)
def test_a_factor_that_phones_do_not_have_is_refused(factors: dict[str, object], sentence: str) -> None:
    plan = replace(classroom_plan(1, seed=1), arms=(Arm("odd", "sse", factors),))  # type: ignore[arg-type]

    with pytest.raises(Malformed, match=sentence):
        check_for_phones(plan)


def constant(module: str, name: str) -> int:
    """A number that a page's module has."""
    text = (STATIC / "js" / module).read_text(encoding="utf-8")
    found = re.search(rf"\bconst {name} = ([\d_]+);", text)
    assert found is not None, f"{module} has no {name}"
    return int(found[1])


def test_a_trial_longer_than_a_phone_can_hold_is_refused_and_the_longest_fits_its_outbox() -> None:
    plan = replace(
        classroom_plan(1, seed=1), notifications=PHONE_NOTIFICATIONS_MAX - 5, warmup_notifications=5
    )

    check_for_phones(plan)
    with pytest.raises(Malformed, match="at most 1400 notifications"):
        check_for_phones(replace(plan, warmup_notifications=6))

    duplicates = constant("trial_session.js", "ARRIVALS_SPARE")
    assert PHONE_NOTIFICATIONS_MAX + duplicates < constant("outbox.js", "WAITING_MAX")


def test_an_idle_window_longer_than_the_source_waits_is_refused_before_phones_gather() -> None:
    plan = replace(classroom_plan(1, seed=1), settle_s=1.5, idle_s=57.0)

    check_for_phones(plan)
    check_for_phones(replace(plan, settle_s=60.0, idle_s=0.0))
    with pytest.raises(Malformed, match="at most 60 s"):
        check_for_phones(replace(plan, idle_s=57.001))


def test_built_in_clients_have_no_radio_and_no_lan() -> None:
    plan = classroom_plan(1, seed=1)
    warm = replace(plan, environment="loopback", arms=(Arm("warm", "sse", {"radio": "warm"}),))

    with pytest.raises(Malformed, match="does nothing with built-in clients"):
        check_for_built_in(warm)
    with pytest.raises(Malformed, match="loopback"):
        check_for_built_in(plan)
