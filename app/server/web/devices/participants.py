"""`/api/participants`: a phone joins or leaves the room."""

from __future__ import annotations

from typing import Annotated

import flask
import msgspec
from werkzeug.exceptions import Forbidden

from app.i18n import refusal
from app.server.room.clean_name import NAME_CHARS_MAX, clean_name
from app.server.web import body, locale
from app.server.web.current import services
from app.server.web.devices.device import require_registered
from app.server.wsgi.peer import address_of

blueprint = flask.Blueprint("participants", __name__)

JOIN_BYTES_MAX = 2048

MODEL_CHARS_MAX = 80


class Join(msgspec.Struct, forbid_unknown_fields=True):
    """The body of a request to join."""

    name: Annotated[str, msgspec.Meta(max_length=NAME_CHARS_MAX)] = ""
    model: Annotated[str, msgspec.Meta(max_length=MODEL_CHARS_MAX)] | None = None
    join_code: Annotated[str, msgspec.Meta(max_length=16)] = ""


@blueprint.post("/api/participants")
def join() -> flask.Response:
    """Give the device a seat in the room, or the one that it had."""
    device = require_registered()
    wanted = body.read(Join, bytes_max=JOIN_BYTES_MAX)
    _check_code(wanted.join_code, device)
    participant = services().room.join(
        device,
        name=wanted.name,
        model=clean_name(wanted.model or "") or None,
        language=locale.language(),
    )
    return body.answer(201, device=device, name=participant.name, seat=participant.seat)


def _check_code(code: str, device: str) -> None:
    """Raise 403 for a wrong join code, and `TooManyGuesses` after several. A device with a seat needs none."""
    parts = services()
    if not parts.settings.join_code or parts.room.seats.get(device) is not None:
        return
    address = address_of(flask.request.environ)
    parts.join_throttle.check(address)
    if not parts.invitation.is_code(code):
        parts.join_throttle.record_failure(address)
        raise Forbidden(refusal("wrong_join_code"))


@blueprint.delete("/api/participants/me")
def leave() -> flask.Response:
    """Leave the room."""
    device = require_registered()
    services().room.leave(device)
    return body.answer(device=device)
