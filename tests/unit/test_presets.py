"""Presets: every one a plan that can be started, short enough for a room of people."""

from __future__ import annotations

import json

import pytest

from app.core.errors import Malformed
from app.core.plan.classroom import LENGTH_S_MAX, length_s_max
from app.core.plan.scenario import plan_from_json, plan_to_json
from app.store.presets import PHONES_MAX, PRESETS, length_s, plan_by_fields, preset, preset_plan

IDS = [each.id for each in PRESETS]


def test_the_contract_s_presets_are_there() -> None:
    assert IDS == ["classroom", "study", "radio_asleep", "big_payload", "hundred_clients"]


@pytest.mark.parametrize("name", IDS)
@pytest.mark.parametrize("phones", [1, 2, 3, 5, 6, 7, 30, PHONES_MAX])
def test_no_preset_lasts_longer_than_twelve_minutes_or_wants_more_phones_than_there_are(
    name: str, phones: int
) -> None:
    plan = preset_plan(name, phones=phones, seed=1)

    assert 0 < length_s(plan, built_in=preset(name).built_in) <= LENGTH_S_MAX
    assert preset(name).built_in or length_s_max(plan) <= LENGTH_S_MAX
    assert preset(name).built_in or max(plan.client_counts) <= phones
    assert plan.environment == ("loopback" if preset(name).built_in else "lan")
    assert plan.profile == name


@pytest.mark.parametrize("name", IDS)
def test_a_preset_survives_the_way_to_the_runner(name: str) -> None:
    plan = preset_plan(name, phones=6, seed=7)

    assert plan_from_json(json.loads(json.dumps(plan_to_json(plan)))) == plan


@pytest.mark.parametrize("name", IDS)
def test_a_preset_s_plan_may_come_back_from_the_page_with_changes(name: str) -> None:
    phones = None if preset(name).built_in else 6
    plan = preset_plan(name, phones=6, seed=7)

    changed = plan_by_fields({**plan_to_json(plan), "blocks": 3}, phones=phones, seed=9)

    assert (changed.blocks, changed.seed, changed.arms) == (3, 9, plan.arms)


def test_the_study_has_the_published_counts() -> None:
    assert preset_plan("study", phones=6, seed=1).client_counts == (1, 3, 6)
    assert preset_plan("study", phones=4, seed=1).client_counts == (1, 3)


def test_radio_asleep_differs_in_the_radio_alone_and_leaves_it_five_seconds_to_sleep() -> None:
    plan = preset_plan("radio_asleep", phones=6, seed=1)

    assert 1 / plan.rate_hz == 5.0
    assert {(arm.transport, arm.factors["radio"]) for arm in plan.arms} == {
        ("sse", "warm"), ("sse", "idle"), ("socketio", "warm"), ("socketio", "idle"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ({}, "names its arms"),
        ({"arms": []}, "names its arms"),
        ({"arms": "sse"}, "names its arms"),
        ({"arms": ["carrier pigeon"]}, "is no transport"),
        ({"arms": [{"transport": "sse", "factors": {"colour": "red"}}]}, "no factor 'colour'"),
        ({"arms": [{"transport": "sse", "factors": "red"}]}, "are a table"),
        ({"arms": ["sse"], "blocks": "8"}, "must be a whole number"),
        ({"arms": ["sse"], "blocks": 8.5}, "must be a whole number"),
        ({"arms": ["sse"], "blocks": 10**9}, "1 to 1000"),
        ({"arms": ["sse"], "rate_hz": None}, "must be a number"),
        ({"arms": ["sse"], "client_counts": [7]}, "7 phones at once"),
        ({"arms": ["sse"], "client_counts": 7}, "list of whole numbers"),
        ({"arms": ["sse"], "client_counts": []}, "at least one count"),
        ({"arms": ["sse"], "what": 1}, "no field 'what'"),
        ({"arms": ["sse"], "profile": "live"}, "no experiment"),
        ({"arms": ["sse", "sse"], "profile": {}}, "must be text"),
    ],
)
def test_a_plan_that_is_none_is_refused_in_words(content: dict[str, object], sentence: str) -> None:
    with pytest.raises(Malformed, match=sentence):
        plan_by_fields(content, phones=6, seed=1)


def test_an_unknown_preset_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(Malformed, match="radio_asleep"):
        preset("lunch")
