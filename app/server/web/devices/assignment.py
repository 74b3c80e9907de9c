"""`/api/assignment`: a phone reports its state and learns what to do next."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import flask
import msgspec

from app.server.room import views
from app.server.room.clean_name import NAME_CHARS_MAX
from app.server.web import body, locale
from app.server.web.current import services
from app.server.web.devices.device import require_registered

blueprint = flask.Blueprint("assignment", __name__)

REPORT_BYTES_MAX = 2048

_Ms = Annotated[float, msgspec.Meta(ge=0, le=1e9)]
_Index = Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]
_Check = Literal["ok", "failed", "waiting"]


class Checks(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Results of a phone's checks; omitted ones stay as they were."""

    sse: _Check | None = None
    socketio: _Check | None = None
    clock: _Check | None = None


class Report(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A phone's report about itself; omitted members stay as they were."""

    name: Annotated[str, msgspec.Meta(max_length=NAME_CHARS_MAX)] | None = None
    checks: Checks | None = None
    ready: bool | None = None
    visible: bool | None = None
    awake: bool | None = None
    clock_bound_ms: _Ms | None = None
    rtt_ms: _Ms | None = None
    jitter_ms: _Ms | None = None
    connected: bool | None = None
    trial_ready: _Index | None = None
    trial_done: _Index | None = None


@blueprint.post("/api/assignment")
def report() -> flask.Response:
    """Store a report and return what to do next."""
    device = require_registered()
    values: dict[str, Any] = msgspec.to_builtins(body.read(Report, bytes_max=REPORT_BYTES_MAX))
    services().room.report(device, values)
    return _assignment(device)


@blueprint.get("/api/assignment")
def read() -> flask.Response:
    """Return what to do next; the request counts as a sign of life too."""
    device = require_registered()
    services().room.report(device, {})
    return _assignment(device)


def _assignment(device: str) -> flask.Response:
    room = services().room
    assigned = views.assignment(room, device)
    assigned["join_code_required"] = services().settings.join_code
    if assigned["you"]["name"] is None:
        assigned["you"]["proposed_name"] = room.proposed_name(device, locale.language())
    answer = body.answer(**assigned)
    answer.headers["Cache-Control"] = "no-store"
    return answer
