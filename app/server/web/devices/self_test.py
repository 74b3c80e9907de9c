"""`/selftest`: store a phone's answers to the self-test, and list them for the operator."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import flask
import msgspec

from app.core.version import VERSION
from app.server.web import body
from app.server.web.auth import require_operator
from app.server.web.current import services
from app.server.web.devices.deliveries import ConductDevice
from app.server.web.devices.device import require_registered
from app.server.wsgi.offload import blocking
from app.store.archive import self_tests

blueprint = flask.Blueprint("self_test", __name__)

BODY_BYTES_MAX = 16_384
STEPS_MAX = 40
FIGURES_MAX = 8
REMARKS_CHARS_MAX = 1_000

_Name = Annotated[str, msgspec.Meta(pattern=r"\A[a-z_]{1,32}\Z")]
_Figure = Annotated[float, msgspec.Meta(ge=-1e12, le=1e12)]


class Step(msgspec.Struct, forbid_unknown_fields=True):
    """One step of docs/phone-protocol.md and its outcome."""

    step: _Name
    state: Literal["passed", "failed", "skipped"]
    reason: _Name | None = None
    figures: Annotated[dict[_Name, _Figure], msgspec.Meta(max_length=FIGURES_MAX)] = {}


class SelfTest(msgspec.Struct, forbid_unknown_fields=True):
    """All answers so far; a later post replaces them."""

    language: Literal["en", "id"]
    facts: ConductDevice
    steps: Annotated[list[Step], msgspec.Meta(max_length=STEPS_MAX)]
    remarks: Annotated[str, msgspec.Meta(max_length=REMARKS_CHARS_MAX)] = ""


@blueprint.post("/api/selftest")
def keep() -> flask.Response:
    """Store this device's answers in place of its earlier ones."""
    device = require_registered()
    values: dict[str, Any] = msgspec.to_builtins(body.read(SelfTest, bytes_max=BODY_BYTES_MAX))
    settings = services().settings
    blocking(
        self_tests.keep,
        settings.runs_dir,
        device,
        {"siar": VERSION, **values},
        days=settings.retention_days,
    )
    return body.answer(steps_count=len(values["steps"]))


@blueprint.get("/api/selftests")
def records() -> flask.Response:
    """Return the answers of all devices, newest first (operator)."""
    require_operator()
    settings = services().settings
    found = blocking(self_tests.all_of, settings.runs_dir, days=settings.retention_days)
    answer = flask.jsonify(records=found)
    answer.headers["Cache-Control"] = "no-store"
    return answer
