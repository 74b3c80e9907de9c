"""What the room needs a server of its own for: the join code, the stock path, and a practice round from end to end."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.patience import PATIENCE_S
from tests.support.room_by_hand import OPENING, Phone, new_phone, operator
from tests.support.server import running_server
from tests.support.streams import sse


def test_where_a_code_is_required_nobody_joins_without_it_and_guessing_is_slow(tmp_path: Path) -> None:
    with running_server(tmp_path, recorder=0, join_code=1) as server:
        room = operator(server, "POST", "/api/room", OPENING, expected=201)
        phone, guesser = new_phone(server), new_phone(server)

        told = phone.assignment()["join_code_required"]
        _status, joined = phone.request(
            "POST", "/api/participants", {"join_code": f" {room['join_code'].lower()} "}
        )
        wrong = [guesser.request("POST", "/api/participants", {"join_code": "WXYZ"})[0] for _ in range(6)]
        right, answer = guesser.request("POST", "/api/participants", {"join_code": room["join_code"]})
        _status, again = phone.request("POST", "/api/participants", {})

    assert told is True
    assert room["join_url"].endswith(f"?code={room['join_code']}")
    assert (joined["seat"], again["seat"]) == (1, 1)
    assert wrong == [403] * 5 + [429]
    assert (right, answer["status"]) == (429, 429)


@pytest.mark.slow
def test_devices_of_the_stock_path_are_in_the_table_too_and_are_cut_off(tmp_path: Path) -> None:
    with running_server(tmp_path, recorder=0, fanout="stock") as server:
        phone = new_phone(server)
        cookie = {"Cookie": f"siar_device={phone.device}.{phone.token}"}
        with sse(server.port, headers=cookie) as stream:
            table = operator(server, "GET", "/api/devices")["devices"]
            operator(server, "DELETE", f"/api/devices/{phone.device}")
            ended = stream.response.read()

    assert [(each["device"], each["path"], each["buffered_bytes"]) for each in table] == [
        (phone.device, "stock", None)
    ]
    assert b"retry:" in ended


def follow(phone: Phone) -> list[tuple[str, str, int]]:
    """What a phone does in a practice round, without opening anything: the trials by transport, state and count."""
    seen: list[tuple[str, str, int]] = []
    deadline_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline_s:
        told = phone.assignment()
        trial: dict[str, Any] | None = told["trial"]
        if not told["practice"]:
            return seen
        if trial is not None:
            step = (trial["transport"], trial["state"], trial["expected_count"])
            if step not in seen:
                seen.append(step)
            if trial["state"] == "connect":
                phone.report(connected=True, trial_ready=trial["index"])
            if trial["state"] == "collect":
                phone.report(connected=False, trial_done=trial["index"])
        # No state is over before this looks again: each takes seconds, or waits for what is said here.
        time.sleep(0.2)
    raise AssertionError(f"the practice round did not end: {seen}")


@pytest.mark.slow
def test_a_practice_round_runs_by_itself_and_leaves_nothing(tmp_path: Path) -> None:
    with running_server(tmp_path, recorder=0) as server:
        operator(server, "POST", "/api/room", OPENING, expected=201)
        phone = new_phone(server)
        phone.join()
        with sse(server.port) as stream:
            room = operator(server, "POST", "/api/room/practice")
            seen = follow(phone)
            topics = {stream.next_notification()["topic"] for _ in range(6)}
        status, _answer = phone.request(
            "POST",
            "/api/deliveries",
            {
                "batch_id": "practice-batch",
                "device": phone.device,
                "clock_channel": "http",
                "timebase": "t",
                "run": room["run"],
                "trial": 900_000,
                "samples": [],
                "conduct": {
                    **dict.fromkeys(("disconnects", "clock_steps", "expected_count", "received_count"), 0),
                    **dict.fromkeys(("hidden_ms", "frozen_ms", "suspended_ms"), 0),
                    "device": {"secure_context": False, "wake_lock": False, "timer_step_us": 5},
                },
            },
        )
        after = operator(server, "GET", "/api/room")

        assert room["run"].startswith("practice-")
        assert seen == [
            (transport, state, 6)
            for transport in ("sse", "socketio")
            for state in ("connect", "running", "collect")
        ]
        assert topics == {"trial.900000"}
        assert status == 200
        assert not (server.runs_dir / room["run"]).exists()
        assert (after["phase"], after["practice"], after["trial"]) == ("gathering", False, None)
        assert "Traceback" not in server.log(), server.log()
