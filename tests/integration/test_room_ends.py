"""What comes too late: from the runner of an experiment that was cancelled, and from phones of one that is over."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from app.core.errors import Conflict
from app.lab.run.api import find_server
from app.lab.run.room_api import RoomOperator
from tests.support.room_by_hand import (
    CONDUCT,
    OPENING,
    TRIAL,
    VERDICT,
    begin_trial,
    new_phone,
    operator,
    post,
)
from tests.support.server import RunningServer, running_server
from tests.support.stored_run import store_run


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running_server(tmp_path_factory.mktemp("ends"), recorder=0) as server:
        yield server
        assert "Traceback" not in server.log(), server.log()


@pytest.fixture
def server(running: RunningServer) -> RunningServer:
    """With a closed room."""
    operator(running, "DELETE", "/api/room")
    return running


def open_room(server: RunningServer, run: str) -> None:
    operator(server, "POST", "/api/room", {**OPENING, "run": run}, expected=201)


LATE: list[tuple[str, str, Any]] = [
    ("PUT", "/api/room/trial", {**TRIAL, "participants": []}),
    ("PUT", "/api/room/progress", {"round": 3}),
    ("POST", "/api/room/finish", {"verdict": VERDICT}),
    ("DELETE", "/api/room", None),
]


@pytest.mark.parametrize(("method", "path", "body"), LATE)
def test_a_runner_that_was_cancelled_cannot_disturb_the_next_experiment(
    server: RunningServer, method: str, path: str, body: Any
) -> None:
    open_room(server, "cancelled-1")
    operator(server, "DELETE", "/api/room")
    open_room(server, "next-1")

    status, problem = server.request(method, f"{path}?run=cancelled-1", body)
    room = operator(server, "GET", "/api/room")

    assert status == 409
    assert "cancelled-1" in problem["detail"]
    assert (room["phase"], room["run"], room["trial"], room["round"]) == ("gathering", "next-1", None, None)


def test_our_own_runner_says_for_which_run_it_speaks(server: RunningServer) -> None:
    late = RoomOperator(find_server(server.url, admin_token=server.admin_token), "cancelled-2")
    late.open_room(wanted_count=1, length_s=60.0, plan={})
    operator(server, "DELETE", "/api/room")
    open_room(server, "next-2")

    orders: tuple[Callable[[], None], ...] = (
        lambda: late.put_trial(None),
        lambda: late.put_progress({"round": 1}),
        lambda: late.finish_room({"verdict": VERDICT}),
        late.close_room,
    )
    for say in orders:
        with pytest.raises(Conflict):
            say()

    assert operator(server, "GET", "/api/room")["run"] == "next-2"


ORDER = {
    "run": "cancelled-3",
    "trial": 0,
    "block": 0,
    "transport": "sse",
    "notifications": 1000,
    "warmup_notifications": 0,
    "rate_hz": 1,
    "payload_bytes": 512,
    "start_after_ms": 0,
    "drain_ms": 0,
}
"""A quarter of an hour."""


def test_a_cancelled_experiment_leaves_no_source_that_runs_on(server: RunningServer) -> None:
    open_room(server, "cancelled-3")
    operator(server, "POST", "/api/trials", ORDER, expected=201)

    operator(server, "DELETE", "/api/room")
    state = operator(server, "GET", "/api/trials/cancelled-3/0")["state"]
    again, problem = server.request("POST", "/api/trials", {**ORDER, "trial": 1})

    assert state == "closed"
    assert again == 409
    assert "ended" in problem["detail"]


def test_nothing_is_stored_for_an_experiment_that_is_over(server: RunningServer) -> None:
    open_room(server, "over-1")
    phone, stranger = new_phone(server), new_phone(server)
    phone.join()
    begin_trial(server, 0, "over-1")
    during, _answer = post(phone, [], run="over-1", trial=0, conduct=CONDUCT)
    operator(server, "DELETE", "/api/room")
    open_room(server, "next-4")

    late = [post(each, [], run="over-1", trial=0, conduct=CONDUCT)[0] for each in (phone, stranger)]

    assert during == 200
    assert late == [409, 409]  # With 409 a page drops the batch; 403 it would try again for ever.
    lines = (server.runs_dir / "over-1" / "spool.jsonl").read_text().splitlines()
    assert len(lines) == 1


def test_a_run_that_another_process_conducts_is_not_deleted_in_a_long_pause(server: RunningServer) -> None:
    """Nothing is written to it for minutes then, and nobody here is its parent."""
    store_run(server.runs_dir, "paused-1")
    open_room(server, "paused-1")

    during, problem = server.request("DELETE", "/api/runs/paused-1")
    operator(server, "DELETE", "/api/room")
    after, _answer = server.request("DELETE", "/api/runs/paused-1")

    assert (during, after) == (409, 200)
    assert "under way" in problem["detail"]
