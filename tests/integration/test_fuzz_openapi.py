"""Every operation as `/api/openapi.json` describes it, asked with what fits the description and with what does not.

schemathesis makes the requests from the document itself, so that an endpoint which is added is tried without a word here.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis.errors import Unsatisfiable

from app.factory import create_app
from app.settings import Settings
from app.web.openapi import document
from tests.support.fuzz import effort

pytestmark = pytest.mark.slow

TOKEN = "an-operators-token-that-is-long-enough-never-to-wait"

LEFT_OUT = {
    ("get", "/events"): "never ends; test_fuzz_wire.py has it",
    ("post", "/api/runs"): "starts a process for each request that is right",
}

OPERATIONS = [
    (method, path)
    for path, methods in document()["paths"].items()
    for method in methods
    if (method, path) not in LEFT_OUT
]

OWN_WORDS = {503, 507}
"""What the server says above 499 of its own accord: it is full, or its disk is."""


@pytest.fixture(scope="module")
def schema(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    import schemathesis

    app = create_app(Settings(admin_token=TOKEN, runs_dir=tmp_path_factory.mktemp("runs")))
    yield schemathesis.openapi.from_wsgi("/api/openapi.json", app)
    app.drain()


@pytest.mark.parametrize("who", ["operator", "stranger"])
@pytest.mark.parametrize("mode", ["positive", "negative"])
@pytest.mark.parametrize(("method", "path"), OPERATIONS, ids=[" ".join(each) for each in OPERATIONS])
def test_no_request_made_from_the_description_is_the_servers_failure(
    schema: Any, method: str, path: str, mode: str, who: str
) -> None:
    from schemathesis import GenerationMode

    headers = {"Authorization": f"Bearer {TOKEN}"} if who == "operator" else {}

    @effort(12)
    @given(case=schema[path][method.upper()].as_strategy(generation_mode=GenerationMode(mode)))
    def answers(case: Any) -> None:
        answer = case.call(headers=headers)
        assert answer.status_code < 500 or answer.status_code in OWN_WORDS, (case, answer.text)
        if answer.status_code >= 400:
            assert len(answer.json()["detail"]) > 5

    with contextlib.suppress(
        Unsatisfiable
    ):  # Nothing can be wrong about a request without parameters or body.
        answers()


def test_what_is_left_out_exists(tmp_path: Path) -> None:
    described = {(method, path) for path, methods in document()["paths"].items() for method in methods}

    assert set(LEFT_OUT) <= described
