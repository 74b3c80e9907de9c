"""Every operation as `/api/openapi.json` describes it, asked with what fits the description and with what does not.

schemathesis makes the requests from the document itself, so that an endpoint which is added is tried without a word here.
What nobody could guess is known to half of them: a device's identity, a stored run, the keys of links. Without it they
would all end at the door.
"""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable

from app.server.factory import SiarApp, create_app
from app.server.room.phases import Experiment
from app.server.web.service.openapi import document
from app.settings import Settings
from tests.support.fuzz import effort, json_values
from tests.support.stored_run import store_run

pytestmark = pytest.mark.slow

TOKEN = "an-operators-token-that-is-long-enough-never-to-wait"

LEFT_OUT = {
    ("get", "/events"): "never ends; test_fuzz_wire.py has it",
    ("post", "/api/runs"): "starts a process for each request that is right; below, where the room is taken",
}

OPERATIONS = [
    (method, path)
    for path, methods in document()["paths"].items()
    for method in methods
    if (method, path) not in LEFT_OUT
]

ASKED = [
    (who, method, path)
    for method, path in OPERATIONS
    for who in ("operator", "stranger", "device")
    if who != "device" or "(device)" in document()["paths"][path][method]["summary"]
]
"""A device is nobody in particular where its identity is not asked for."""

OWN_WORDS = {503, 507}
"""What the server says above 499 of its own accord: it is full, or its disk is."""

RUN = "stored"
KEY = "0" * 32
"""Of the result in it (stored_run.py)."""

STARTS_A_PROCESS = "/api/runs/{run}/export.zip"
"""For a run that is there; test_run_exports.py has it."""


@dataclass(frozen=True, slots=True)
class World:
    """A server within this process, and what can be known of it."""

    app: SiarApp
    schema: Any
    stored: Path
    """A copy of the run."""
    headers: dict[str, dict[str, str]]
    """By who asks."""
    path: dict[str, str]
    """Values of places in paths."""
    query: dict[str, str]
    """Of parameters: the big screen's key."""

    def put_run(self, path: str) -> None:
        """Have the run where `path` looks for it, whatever was done to it before."""
        runs_dir = self.app.services.settings.runs_dir
        trash = runs_dir / ".trash"
        for folder in (trash / RUN, runs_dir / RUN):
            shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.stored, (trash if path.endswith("/restore") else runs_dir) / RUN)

    def tell(self, case: Any) -> None:
        """Let a made request be one of who knows."""
        case.path_parameters.update(
            {name: self.path[name] for name in case.path_parameters if name in self.path}
        )
        if "key" in case.query:
            case.query.update(self.query)
        if isinstance(case.body, dict) and "device" in case.body:
            case.body.update(device=self.path["device"], run=None, trial=None, conduct=None, probes=[])


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    import schemathesis

    app = create_app(Settings(admin_token=TOKEN, runs_dir=tmp_path_factory.mktemp("runs")))
    device, token = app.services.devices.register()
    operator = {"Authorization": f"Bearer {TOKEN}"}
    sent = app.test_client().post("/api/notifications", json={"title": "t", "body": ""}, headers=operator)
    yield World(
        app,
        schemathesis.openapi.from_wsgi("/api/openapi.json", app),
        store_run(tmp_path_factory.mktemp("stored"), RUN),
        {"operator": operator, "stranger": {}, "device": {"Authorization": f"Bearer {device}.{token}"}},
        {"run": RUN, "key": KEY, "device": device, "id": sent.get_json()["id"]},
        {"key": app.services.invitation.screen_key},
    )
    app.drain()


@pytest.mark.parametrize(
    ("who", "method", "address"),
    [
        ("stranger", "get", "/results/{run}/{key}"),
        ("stranger", "get", "/api/results/{run}/{key}"),
        ("stranger", "get", "/api/screen?key={screen}"),
        ("operator", "get", "/api/runs/{run}"),
        ("operator", "get", "/api/runs/{run}/report"),
        ("operator", "post", "/api/runs/{run}/restore"),
        ("operator", "delete", "/api/runs/{run}"),
        ("operator", "get", "/api/notifications/{id}/receipt"),
        ("device", "get", "/api/assignment"),
        ("device", "delete", "/api/deliveries"),
    ],
)
def test_what_is_known_here_opens_the_doors_that_it_is_meant_for(
    world: World, who: str, method: str, address: str
) -> None:
    """Or the property below would be one of refusals."""
    world.put_run(address)
    path = address.format(**world.path, screen=world.query["key"])

    answer = world.app.test_client().open(path, method=method.upper(), headers=world.headers[who])

    assert answer.status_code == 200, answer.get_data(as_text=True)


@pytest.mark.parametrize("mode", ["positive", "negative"])
@pytest.mark.parametrize(("who", "method", "path"), ASKED, ids=[" ".join(each) for each in ASKED])
def test_no_request_made_from_the_description_is_the_servers_failure(
    world: World, method: str, path: str, mode: str, who: str
) -> None:
    from schemathesis import GenerationMode

    @effort(12)
    @given(
        case=world.schema[path][method.upper()].as_strategy(generation_mode=GenerationMode(mode)),
        knows=st.booleans(),
    )
    def answers(case: Any, *, knows: bool) -> None:
        if knows and path != STARTS_A_PROCESS:
            if "{run}" in path:
                world.put_run(path)  # Each time: the one before may have deleted it.
            world.tell(case)
        answer = case.call(headers=world.headers[who])
        assert answer.status_code < 500 or answer.status_code in OWN_WORDS, (case, answer.text)
        if answer.status_code >= 400:
            assert len(answer.json()["detail"]) > 5

    # Nothing can be wrong about a request without parameters or body.
    nothing_to_try = (Unsatisfiable,) if mode == "negative" else ()
    with contextlib.suppress(*nothing_to_try):
        answers()


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SiarApp]:
    """A server whose room is open for an experiment, so that no order for another is carried out."""
    app = create_app(Settings(admin_token=TOKEN, runs_dir=tmp_path_factory.mktemp("runs")))
    app.services.room.open(Experiment("another", 2, 60.0))
    yield app
    app.drain()


PLAN_FIELDS = ["arms", "client_counts", "blocks", "notifications", "rate_hz", "payload_bytes", "x", "seed"]
ORDER_FIELDS = ["preset", "plan", "phones", "clients", "seed", "x"]

orders = st.dictionaries(
    st.sampled_from(ORDER_FIELDS),
    json_values
    | st.sampled_from([1, 2, 200, "classroom", "hundred_clients", "built-in"])
    | st.dictionaries(
        st.sampled_from(PLAN_FIELDS),
        json_values
        | st.sampled_from([1, [1, 2], [["sse"], ["socketio"]], ["sse", "socketio"], 1e400, 10**30]),
    ),
    max_size=4,
)


@effort(200)
@given(order=orders)
@example(order={"preset": "classroom", "phones": 2})
@example(order={"preset": "hundred_clients"})
def test_no_order_for_a_run_is_the_servers_failure(busy: SiarApp, order: dict[str, Any]) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}

    answer = busy.test_client().post("/api/runs", data=json.dumps(order), headers=headers)

    assert answer.status_code in (400, 409), answer.text
    assert len(answer.get_json()["detail"]) > 5


def test_an_order_that_is_right_gets_as_far_as_the_room(busy: SiarApp) -> None:
    """Or the property above would be one of refusals at the door."""
    headers = {"Authorization": f"Bearer {TOKEN}"}

    answer = busy.test_client().post("/api/runs", json={"preset": "classroom", "phones": 2}, headers=headers)

    assert (answer.status_code, answer.get_json()["code"]) == (409, "stop_it_first")


def test_what_is_left_out_exists(tmp_path: Path) -> None:
    described = {(method, path) for path, methods in document()["paths"].items() for method in methods}

    assert set(LEFT_OUT) <= described
