"""Runs that the operator starts from the server: measured, stopped, and put in order when their runner dies."""

from __future__ import annotations

import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from app.lab.measure.cpu import CpuSampler
from app.store.archive.export import export
from tests.support.lab import descendants_with, wait_until_gone
from tests.support.patience import PATIENCE_S
from tests.support.phone import phones
from tests.support.server import RunningServer, running_server

pytestmark = pytest.mark.slow

SHORT = {
    "arms": ["sse", "socketio"],
    "client_counts": [2],
    "blocks": 1,
    "notifications": 20,
    "warmup_notifications": 2,
    "rate_hz": 100,
    "idle_s": 0.1,
    "settle_s": 0.05,
    "extra_blocks_max": 0,
}
LONG = {**SHORT, "notifications": 3000}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running_server(tmp_path_factory.mktemp("started"), recorder=0) as running:
        yield running
        assert "Traceback" not in running.log()


def until(look: Callable[[], Any]) -> Any:
    """What `look` gives, once that is something."""
    deadline_s = time.monotonic() + PATIENCE_S
    while not (found := look()):
        assert time.monotonic() < deadline_s, "it did not come to that"
        time.sleep(0.05)
    return found


def start(server: RunningServer, **body: Any) -> str:
    status, answer = server.request("POST", "/api/runs", body)
    assert status == 202, answer
    return str(answer["run"])


def one(server: RunningServer, run: str) -> dict[str, Any]:
    status, answer = server.request("GET", f"/api/runs/{run}")
    assert status == 200, answer
    return dict(answer)


def ended(server: RunningServer, run: str) -> dict[str, Any]:
    """The run once its runner has ended."""
    return until(lambda: (found := one(server, run))["runner"]["state"] == "ended" and found)


def room_of(server: RunningServer) -> dict[str, Any]:
    return dict(server.request("GET", "/api/room")[1])


def runner_process(server: RunningServer) -> psutil.Process:
    return until(lambda: descendants_with(server.process.pid, "app.lab.run.room_runner"))[0]


def test_a_run_with_built_in_clients_is_measured_beside_the_server_and_listed(server: RunningServer) -> None:
    run = start(server, plan=SHORT, clients="built-in", seed=4)
    assert one(server, run)["state"] in ("running", "complete")
    assert run in [each["id"] for each in server.request("GET", "/api/runs")[1]]

    found = ended(server, run)

    assert found["runner"]["exit_code"] == 0, found["runner"]["last_words"]
    assert (found["state"], found["simulated"], found["complete"]) == ("complete", True, True)
    assert [each["name"] for each in found["downloads"]] == ["report", "export.zip"]
    status, result = server.request("GET", found["downloads"][0]["url"])
    assert status == 200
    assert run in result


@pytest.mark.slow
def test_under_gevent_a_runner_is_a_child_like_any_other(tmp_path: Path) -> None:
    with running_server(tmp_path, recorder=0, green_threads="gevent") as server:
        found = ended(server, start(server, plan=SHORT, clients="built-in"))
        assert found["state"] == "complete", found["runner"]["last_words"]


@pytest.mark.slow
def test_what_the_runner_and_its_clients_use_is_not_taken_for_the_server_s(server: RunningServer) -> None:
    run = start(server, plan=LONG, clients="built-in")
    runner = runner_process(server)
    until(runner.children)

    measured = {pid for pid, _began in CpuSampler(server.process.pid).snapshot().processes}

    assert server.process.pid in measured
    assert not measured & {runner.pid, *(each.pid for each in runner.children(recursive=True))}
    server.request("POST", f"/api/runs/{run}/stop")
    ended(server, run)


@pytest.mark.slow
def test_a_run_is_stopped_in_order_and_refuses_a_second_beside_it(server: RunningServer) -> None:
    run = start(server, plan=LONG, clients="built-in")
    until((server.runs_dir / run / "run.sqlite").exists)

    status, refusal = server.request("POST", "/api/runs", {"plan": SHORT, "clients": "built-in"})
    assert status == 409
    assert server.request("DELETE", f"/api/runs/{run}")[0] == 409
    assert server.request("POST", f"/api/runs/{run}/pause")[0] == 409, "only what has phones can pause"
    assert server.request("POST", f"/api/runs/{run}/stop")[0] == 202
    found = ended(server, run)

    assert found["state"] == "incomplete"
    assert found["runner"]["exit_code"] == 130, found["runner"]["last_words"]
    assert refusal["detail"]


@pytest.mark.slow
def test_with_phones_the_room_opens_and_closes_with_the_run(server: RunningServer) -> None:
    run = start(server, preset="classroom", phones=6)
    room = until(lambda: (found := server.request("GET", "/api/room")[1])["phase"] == "gathering" and found)
    assert (room["run"], room["wanted_count"]) == (run, 6)
    assert one(server, run)["state"] in ("running", "complete")
    assert server.request("POST", "/api/runs", {"preset": "study", "phones": 6})[0] == 409

    server.request("POST", f"/api/runs/{run}/stop")
    ended(server, run)

    until(lambda: server.request("GET", "/api/room")[1]["phase"] == "closed")


@pytest.mark.slow
def test_a_runner_that_dies_leaves_a_closed_room_and_its_last_words(server: RunningServer) -> None:
    run = start(server, preset="classroom", phones=6)
    until(lambda: server.request("GET", "/api/room")[1]["phase"] == "gathering")

    runner_process(server).kill()
    found = ended(server, run)

    assert found["runner"]["exit_code"] == -9
    until(lambda: server.request("GET", "/api/room")[1]["phase"] == "closed")


@pytest.mark.slow
def test_nothing_is_deleted_while_a_runner_may_still_write_about_it(server: RunningServer) -> None:
    _status, device = server.request("POST", "/api/devices", {})
    mine = f"{device['device']}.{device['token']}"
    run = start(server, preset="classroom", phones=6)
    until(lambda: server.request("GET", "/api/room")[1]["phase"] == "gathering")
    runner = runner_process(server)
    runner.suspend()  # It does not hear that its room is closed.

    server.request("DELETE", "/api/room")
    during = server.request("DELETE", "/api/deliveries", token=mine)[0]
    runner.resume()
    ended(server, run)

    assert during == 409
    assert server.request("DELETE", "/api/deliveries", token=mine)[0] == 200


@pytest.mark.slow
def test_a_run_with_phones_pauses_goes_on_and_is_exported_without_their_identities(
    server: RunningServer,
) -> None:
    names = ["Red Gecko", "Blue Otter"]
    plan = {**SHORT, "rate_hz": 50, "settle_s": 0.7, "blocks": 2}
    run = start(server, plan=plan, phones=2)
    until(lambda: room_of(server)["phase"] == "gathering")
    with phones(server, names) as joined:
        until(lambda: room_of(server)["phase"] == "running")
        assert server.request("POST", f"/api/runs/{run}/pause")[0] == 202
        until(lambda: room_of(server)["phase"] == "paused")
        assert one(server, run)["state"] in ("running", "complete")
        assert server.request("POST", f"/api/runs/{run}/resume")[0] == 202
        found = ended(server, run)
        devices = [each.device for each in joined]

    assert found["runner"]["exit_code"] == 0, found["runner"]["last_words"]
    assert (found["state"], found["phones"], found["simulated"]) == ("complete", 2, True)
    assert found["verdict"]["sentence_id"]
    folder = server.runs_dir / run
    assert all(name in (folder / "participants.json").read_text() for name in (*names, *devices))
    with export(folder) as file, zipfile.ZipFile(file) as packed:
        for path in packed.namelist():
            for secret in (*names, *devices, server.admin_token):
                assert secret.encode() not in packed.read(path), f"{secret} is in {path}"


@pytest.mark.slow
def test_a_runner_ends_with_its_server(tmp_path: Path) -> None:
    with running_server(tmp_path, recorder=0) as server:
        start(server, plan=LONG, clients="built-in")
        runner = runner_process(server)
        until(runner.children)
        family = [runner, *runner.children(recursive=True)]
        server.process.kill()

        assert wait_until_gone(family, 20) == []
