"""What the flags of `load` mean, and the plan that follows."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import pytest

from app.cli import load, load_order
from app.cli import main as cli
from app.core.errors import Malformed
from app.tools.load.plan import LoadOrder, parse_duration_s, parse_transports, parse_users
from app.tools.load.result import Kind


def order(*flags: str) -> LoadOrder:
    parser = argparse.ArgumentParser()
    load.add_arguments(parser)
    return load_order.order_of(parser.parse_args(flags))


def test_without_flags_it_is_the_published_levels_in_six_blocks_of_20_s() -> None:
    plan = order().plan

    assert plan.client_counts == (50, 500, 1000, 2000, 3000)
    assert (plan.blocks, plan.notifications, plan.rate_hz) == (6, 20, 1.0)
    assert [arm.transport for arm in plan.arms] == ["sse", "socketio"]
    assert [str(gate) for gate in order().gates] == ["delay_ms_p95<100", "lost==0", "errors==0"]


def test_phones_counts_and_thousands_of_users_are_levels_of_one_run() -> None:
    published = (1, 3, 6, 50, 500, 1000, 2000, 3000)
    text = ",".join(map(str, published))

    assert order("--users", text).plan.client_counts == published
    assert order("--users", text, "--shape", "steps").stages == published


def test_gates_may_be_repeated_or_follow_each_other() -> None:
    apart = order("--gate", "lost==0", "--gate", "errors==0").gates

    assert apart == order("--gate", "lost==0", "errors==0").gates
    assert len(apart) == 2


@pytest.mark.parametrize(
    ("text", "seconds"), [("20s", 20), ("500ms", 0.5), ("2m", 120), ("1.5s", 1.5), ("30", 30)]
)
def test_a_duration_has_a_unit(text: str, seconds: float) -> None:
    assert parse_duration_s(text) == seconds


@pytest.mark.parametrize("text", ["", "s", "20h", "-1s", "0s", "1e3s", "99999s", "twenty"])
def test_a_duration_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(Malformed):
        parse_duration_s(text)


@pytest.mark.parametrize("text", ["", ",", "0", "-5", "20001", "5.5", "many", "5;6", "²"])
def test_users_that_are_no_list_of_numbers_are_refused(text: str) -> None:
    with pytest.raises(Malformed):
        parse_users(text)


def test_an_unknown_transport_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(Malformed, match="socketio-polling"):
        parse_transports("sse,smoke")


@pytest.mark.parametrize(
    "flags",
    [
        ("--agreement", "--shape", "ramp"),
        ("--spawn-rate", "0"),
        ("--spawn-rate", "nan"),
        ("--rate", "nan"),
        ("--rate", "inf"),
        ("--processes", "0"),
        ("--payload", "10"),
        ("--blocks", "0"),
        ("--url", "ftp://example.org", "--token", "t"),
        ("--url", "http://[::1", "--token", "t"),
        ("--url", "http://127.0.0.1:99999", "--token", "t"),
        ("--agreement", "--transport", "socketio-polling"),
        ("--preset", "vps", "--shape", "spike"),
        ("--preset", "vps", "--url", "http://127.0.0.1:1", "--token", "t"),
        ("--preset", "vps", "--transport", "socketio-polling"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_starts(flags: tuple[str, ...]) -> None:
    with pytest.raises(Malformed):
        order(*flags)


def test_an_agreement_has_both_generators_in_every_block() -> None:
    found = order("--agreement")

    assert found.kind is Kind.AGREEMENT
    assert found.plan.client_counts == (1, 6, 100)
    assert [arm.factors["generator"] for arm in found.plan.arms] == ["built-in", "locust"] * 2


def test_a_spike_brings_everybody_at_once_up_and_down() -> None:
    found = order("--shape", "spike")

    assert found.stages == (100, 300, 500, 300, 100)
    assert found.spawn_rate >= 500


def test_a_spike_may_come_down_to_where_it_began_and_levels_are_there_once() -> None:
    assert order("--shape", "spike", "--users", "5,20,5").stages == (5, 20, 5)
    assert order("--users", "5,20,5").plan.client_counts == (5, 20)


def test_a_ramp_goes_up_whatever_the_order_of_its_levels() -> None:
    assert order("--shape", "ramp", "--users", "300,100,200").stages == (100, 200, 300)


def test_a_place_that_cannot_take_a_file_is_told_by_the_flag_that_named_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["load", "--junit", str(tmp_path / "none" / "load.xml")]) == 2
    assert "--junit" in capsys.readouterr().err


def test_a_run_that_is_judged_again_takes_no_flag_of_a_new_load(capsys: pytest.CaptureFixture[str]) -> None:
    flags = ("--users", "50", "--payload", "300", "--quick", "--spawn-rate", "20")

    assert cli.main(["load", "--again", "no-such-run", *flags, "--gate", "lost==0", "--lang", "en"]) == 2
    said = capsys.readouterr().err
    assert "leave --users, --spawn-rate, --quick, --payload out" in said
    assert "takes only --gate, --json, --junit, --lang" in said


def test_a_server_that_runs_already_needs_its_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SIAR_ADMIN_TOKEN", raising=False)

    with pytest.raises(Malformed, match="token"):
        order("--url", "http://127.0.0.1:5000")


def test_polling_is_the_same_transport_spoken_another_way() -> None:
    (arm,) = order("--transport", "socketio-polling").plan.arms

    factors: dict[str, Any] = dict(arm.factors)
    assert (arm.transport, factors["polling"]) == ("socketio", True)


def test_the_vps_preset_has_its_three_configurations_in_every_block_with_500_users() -> None:
    plan = order("--preset", "vps").plan

    assert [(arm.name.split()[0], arm.transport) for arm in plan.arms] == [
        ("C1", "socketio"),
        ("C2", "socketio"),
        ("C3", "socketio"),
    ]
    assert [arm.factors.get("cache_ttl_s") for arm in plan.arms] == [None, None, 60]
    assert (plan.client_counts, plan.blocks, plan.rate_hz) == ((500,), 8, 1.0)


def test_a_quick_preset_is_small_and_each_transport_has_arms_of_its_own() -> None:
    plan = order("--preset", "vps", "--quick", "--transport", "sse,socketio").plan

    assert (plan.client_counts, plan.blocks, plan.notifications) == ((20,), 3, 3)
    assert len({arm.name for arm in plan.arms}) == 6
