"""A phone deletes what was recorded about it while the server runs and its recorder writes."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from pathlib import Path

import pytest

from tests.support.patience import PATIENCE_S
from tests.support.room_by_hand import OPENING, TRIAL, new_phone, operator, post, publish, receipt, sample
from tests.support.server import RunningServer, running_server


def stored(server: RunningServer) -> list[str]:
    """Devices of the batches that the recorder has taken in."""
    path = server.runs_dir / server.run / "run.sqlite"
    with contextlib.suppress(sqlite3.OperationalError), contextlib.closing(sqlite3.connect(path)) as database:
        return [row[0] for row in database.execute("SELECT device FROM client_batch ORDER BY batch")]
    return []


def wait_until_stored(server: RunningServer, count: int) -> list[str]:
    deadline_s = time.monotonic() + PATIENCE_S
    while len(found := stored(server)) < count:
        assert time.monotonic() < deadline_s, server.log()
        time.sleep(0.1)
    return found


@pytest.mark.slow
def test_a_phone_has_itself_forgotten_with_what_its_outbox_holds_and_goes_on(tmp_path: Path) -> None:
    with running_server(tmp_path) as server:
        mine, other = new_phone(server), new_phone(server)
        mine.report(name="Siti")
        notification = publish(server)
        for phone in (mine, other):
            post(phone, [sample(notification)])
        wait_until_stored(server, 2)
        post(mine, [sample(notification, outcome="duplicate")])  # It may be in the spool only.

        status, counts = mine.request("DELETE", "/api/deliveries")
        left = [
            path.name
            for path in server.runs_dir.rglob("*")
            if path.is_file() and mine.device.encode() in path.read_bytes()
        ]
        told = receipt(server, notification["id"])
        from_its_outbox, nothing = post(mine, [sample(notification)])
        newer = publish(server)
        again, something = post(mine, [sample(notification), sample(newer)])
        found = wait_until_stored(server, 2)
        told_again = receipt(server, notification["id"])

    assert status == 200
    assert (counts["batches_count"], counts["samples_count"], counts["spooled_count"]) in (
        (1, 1, 2),
        (2, 2, 2),
    )
    assert (counts["runs_count"], counts["receipts_count"]) == (1, 1)
    assert left == []
    assert [each["device"] for each in told["devices"]] == [other.device]
    assert (from_its_outbox, nothing["accepted"]) == (200, 0)
    assert (again, something["accepted"]) == (200, 1), "what was sent since is recorded"
    assert told_again["devices"] == told["devices"]
    assert found == [other.device, mine.device]


@pytest.mark.slow
def test_nothing_is_deleted_in_the_middle_of_an_experiment_nor_for_a_stranger(tmp_path: Path) -> None:
    with running_server(tmp_path, recorder=0) as server:
        operator(server, "POST", "/api/room", {**OPENING, "wanted_count": 1}, expected=201)
        phone = new_phone(server)
        phone.join()
        phone.report(ready=True)
        operator(server, "PUT", "/api/room/trial?run=run-1", {**TRIAL, "participants": [phone.device]})

        during, problem = phone.request("DELETE", "/api/deliveries")
        stranger, _answer = server.request("DELETE", "/api/deliveries", token="nobody")
        operator(server, "DELETE", "/api/room")
        after, counts = phone.request("DELETE", "/api/deliveries")

    assert (during, stranger, after) == (409, 401, 200)
    assert "over" in problem["detail"]
    assert counts["runs_count"] == 0
