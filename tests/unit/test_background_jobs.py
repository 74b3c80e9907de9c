"""Work for the operator's page keeps out of the way of what is measured."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from app.server.factory import SiarApp, create_app
from app.server.room.phases import Experiment, Phase
from app.server.runners import Order
from app.server.web.runs import background_jobs
from app.settings import Settings
from tests.unit.test_publish_batch import StoppedClock

OPERATOR = {"Authorization": "Bearer t"}


@pytest.fixture
def app(tmp_path: Path) -> SiarApp:
    for run in ("one", "two"):
        (tmp_path / run).mkdir()
        (tmp_path / run / "result.json").write_text("{}")
    # Its clock stands: a countdown lasts as long as the test.
    return create_app(Settings(admin_token="t", runs_dir=tmp_path), clock=StoppedClock())


def compare(client: FlaskClient) -> tuple[int, str]:
    answer = client.get("/api/comparisons?run=one&run=two", headers=OPERATOR)
    return answer.status_code, answer.get_json()["code"]


def test_between_two_trials_of_an_experiment_nothing_heavy_is_begun(app: SiarApp) -> None:
    """No source runs then, nor in an idle window: what is begun there would go on through the trials behind it."""
    room = app.services.room
    room.open(Experiment("run-1", wanted_count=2, length_s=60.0))
    room.join("d-1", name="", model=None, language="en")
    room.report("d-1", {"ready": True})
    room.start()

    refused = compare(app.test_client())

    assert room.phase is Phase.COUNTDOWN
    assert refused == (409, "work_would_disturb")


def test_while_built_in_clients_are_measured_nothing_heavy_is_begun(app: SiarApp, tmp_path: Path) -> None:
    """They have no room that would tell."""
    order = Order("run-1", "{}", "http://127.0.0.1:1", tmp_path, "token", certificate="", phones=None)
    until_input_ends = [sys.executable, "-P", "-c", "import sys; sys.stdin.read()"]
    runner = app.services.runners.start(order, command=until_input_ends)

    refused = compare(app.test_client())
    runner.process.kill()
    runner.process.wait()

    assert refused == (409, "work_would_disturb")


def test_while_a_run_is_being_packed_no_experiment_begins_beside_it(app: SiarApp) -> None:
    """Its work takes a core: what is measured meanwhile would not be the server's own."""
    body = {"preset": "hundred_clients", "clients": "built-in"}
    with background_jobs._busy:
        answer = app.test_client().post("/api/runs", json=body, headers=OPERATOR)

    assert (answer.status_code, answer.get_json()["code"]) == (409, "work_under_way")
    assert app.services.runners.running() is None
