"""Receipts of what was published, and the conduct and lifecycle that phones post: on one real server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.room_by_hand import (
    CONDUCT,
    OPENING,
    begin_trial,
    new_phone,
    operator,
    post,
    publish,
    receipt,
    sample,
)
from tests.support.server import RunningServer, running_server
from tests.support.streams import sse


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running_server(tmp_path_factory.mktemp("receipts"), recorder=0) as running:
        yield running
        assert "Traceback" not in running.log(), running.log()


def spool(server: RunningServer, run: str | None = None) -> list[dict[str, Any]]:
    """The batches that the server has put down."""
    path = server.runs_dir / (run or server.run) / "spool.jsonl"
    return (
        [json.loads(line) for line in path.read_text().splitlines() if line.strip()] if path.exists() else []
    )


def test_a_receipt_names_who_got_it_and_who_was_slowest(server: RunningServer) -> None:
    fast, slow = new_phone(server), new_phone(server)
    slow.report(name="Red Gecko")
    notification = publish(server)

    post(fast, [sample(notification, delay_ms=4)])
    post(slow, [sample(notification, delay_ms=14, transport="socketio")])
    told = receipt(server, notification["id"])

    assert (told["recipients_count"], told["delivered_count"]) == (1, 2)
    assert told["slowest"] == {"device": slow.device, "name": "Red Gecko", "delay_ms": 14.0}
    assert told["devices"][1] == {
        "device": slow.device,
        "name": "Red Gecko",
        "transport": "socketio",
        "delay_ms": 14.0,
        "bound_ms": 1.5,
        "outcome": "on_time",
    }


def test_a_device_counts_once_and_what_it_says_of_the_due_time_does_not(server: RunningServer) -> None:
    phone = new_phone(server)
    notification = publish(server)

    post(
        phone,
        [sample(notification, delay_ms=5, due_us=1), sample(notification, delay_ms=50, outcome="duplicate")],
    )
    told = receipt(server, notification["id"])

    assert told["delivered_count"] == 1
    assert [each["delay_ms"] for each in told["devices"]] == [5.0]


def test_what_came_from_history_or_without_a_clock_is_not_the_slowest(server: RunningServer) -> None:
    back, clockless = new_phone(server), new_phone(server)
    notification = publish(server)

    post(back, [sample(notification, delay_ms=60_000, outcome="replayed", state="replay")])
    post(clockless, [sample(notification, clock_offset_us=None, clock_bound_us=None, state="no_clock")])
    told = receipt(server, notification["id"])

    assert told["slowest"] is None
    assert [each["delay_ms"] for each in told["devices"]] == [60_000.0, None]


def test_receipts_of_the_last_hundred_are_kept(server: RunningServer) -> None:
    first = server.publish()["id"]
    last = [server.publish()["id"] for _ in range(99)][-1]
    assert receipt(server, first)["delivered_count"] == 0

    server.publish()

    assert server.request("GET", f"/api/notifications/{first}/receipt")[0] == 404
    assert receipt(server, last)["delivered_count"] == 0


def test_a_repeated_publish_keeps_the_receipt(server: RunningServer) -> None:
    phone = new_phone(server)
    with sse(server.port) as stream:
        server.publish(idempotency_key="once")
        notification = stream.next_notification()
    post(phone, [sample(notification)])

    server.publish(idempotency_key="once")

    assert receipt(server, notification["id"])["delivered_count"] == 1


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ({"visible": True}, "visible"),
        ({"visible": False}, "hidden"),
        ({"visible": False, "lifecycle": "frozen"}, "frozen"),
        ({"visible": True, "lifecycle": "resumed"}, "resumed"),
    ],
)
def test_every_sample_says_in_which_state_its_page_was(
    server: RunningServer, said: dict[str, Any], kept: str
) -> None:
    phone = new_phone(server)
    status, _answer = post(phone, [sample({"id": "e.1", "due_us": 1, "sent_us": 2}, **said)])

    assert status == 200
    assert spool(server)[-1]["batch"]["samples"][0]["lifecycle"] == kept


def test_conduct_is_put_down_with_the_trial_also_without_a_sample(server: RunningServer) -> None:
    phone = new_phone(server)
    begin_trial(server, 0)

    status, answer = post(phone, [], run="r", trial=0, conduct=CONDUCT)

    assert (status, answer["accepted"]) == (200, 0)
    device = {**CONDUCT["device"], "browser": None, "radio_jitter_ms": None, "rtt_ms": None}  # type: ignore[dict-item]
    assert spool(server, "r")[-1]["batch"]["conduct"] == {**CONDUCT, "device": device, "wall_ahead_us": None}


@pytest.mark.parametrize(
    ("members", "word"),
    [
        ({}, "samples"),
        ({"conduct": CONDUCT}, "trial"),
        ({"conduct": {**CONDUCT, "events": [[1.0, "x"]] * 33}}, "events"),
        ({"conduct": {**CONDUCT, "events": [[1.0, "<b>"]]}}, "events"),
        ({"conduct": {**CONDUCT, "frozen_ms": -1}}, "frozen_ms"),
        ({"conduct": {**CONDUCT, "device": {**CONDUCT["device"], "model": "x" * 81}}}, "model"),  # type: ignore[dict-item]
    ],
)
def test_conduct_that_does_not_have_the_form_is_refused(
    server: RunningServer, members: dict[str, Any], word: str
) -> None:
    status, answer = post(new_phone(server), [], **members)

    assert status == 400
    assert word in answer["detail"]


def test_a_stranger_cannot_post_into_an_experiment(server: RunningServer) -> None:
    operator(server, "POST", "/api/room", OPENING, expected=201)
    participant, stranger = new_phone(server), new_phone(server)
    participant.join()
    begin_trial(server, 0, OPENING["run"])

    told = [
        post(each, [], run=OPENING["run"], trial=0, conduct=CONDUCT)[0] for each in (stranger, participant)
    ]
    operator(server, "DELETE", "/api/room")

    assert told == [409, 200]  # With 409 a page drops it; 403 it would try again for ever.
    assert [each["device"] for each in spool(server, OPENING["run"])] == [participant.device]


def test_nobody_posts_in_another_phones_name(server: RunningServer) -> None:
    victim, attacker = new_phone(server), new_phone(server)
    before = len(spool(server))

    status, _answer = post(attacker, [sample({"id": "e.1", "due_us": 1, "sent_us": 2})], device=victim.device)

    assert status == 401
    assert len(spool(server)) == before
