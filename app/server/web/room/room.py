"""`/api/room`: the operator opens, starts, pauses and closes the room; the runner announces trials and progress."""

from __future__ import annotations

from typing import Any

import flask
import msgspec

from app.core.errors import Malformed
from app.i18n import is_remark, refusal
from app.server.room import views
from app.server.room.phases import Experiment, Phase
from app.server.room.trial import RoomTrial
from app.server.web import body, locale
from app.server.web.auth import require_operator
from app.server.web.current import services
from app.server.web.room.join_link import join_url, reaches_this_machine_only
from app.server.web.room.room_bodies import Finish, Opening, Progress, TrialForPhones

blueprint = flask.Blueprint("room", __name__, url_prefix="/api/room")

OPENING_BYTES_MAX = 16_384

TRIAL_BYTES_MAX = 32_768
"""Space for 200 device ids and the trial's parameters."""

PROGRESS_BYTES_MAX = 131_072

FINISH_BYTES_MAX = 262_144


@blueprint.before_request
def operator_only() -> None:
    """Restrict the room's participants and progress to the operator."""
    require_operator()


@blueprint.get("")
def read() -> flask.Response:
    """Return everything about the room. A runner names its run (`?run=`), which counts as its sign of life."""
    run = flask.request.args.get("run")
    if run is not None:
        services().room.note_runner_alive(run)
    return _room()


@blueprint.post("")
def open_room() -> flask.Response:
    """Open the room for an experiment."""
    wanted = body.read(Opening, bytes_max=OPENING_BYTES_MAX)
    services().room.open(Experiment(**msgspec.to_builtins(wanted)))
    return _room(201)


@blueprint.delete("")
def close() -> flask.Response:
    """Cancel the experiment or dismiss a finished one; a runner names its own run (`?run=`), an operator need not."""
    room, experiment = services().room, services().room.experiment
    room.close(run=flask.request.args.get("run"))
    if experiment is not None:
        services().trials.abandon(experiment.run)
    return _room()


@blueprint.post("/start")
def start() -> flask.Response:
    """Start with the phones that are ready."""
    services().room.start()
    return _room()


@blueprint.post("/pause")
def pause() -> flask.Response:
    """Pause after the current trial."""
    services().room.pause()
    return _room()


@blueprint.post("/resume")
def resume() -> flask.Response:
    """End a pause."""
    services().room.resume()
    return _room()


@blueprint.post("/practice")
def practise() -> flask.Response:
    """Start a practice round with the present phones; nothing of it is stored."""
    services().practice.begin()
    return _room()


@blueprint.delete("/participants/<device>")
def remove(device: str) -> flask.Response:
    """Remove a device until the next experiment."""
    services().room.remove(device)
    return _room()


@blueprint.put("/trial")
def put_trial() -> flask.Response:
    """Announce the phones' next trial, or `null` between trials."""
    wanted: Any = body.read(TrialForPhones | None, bytes_max=TRIAL_BYTES_MAX)  # type: ignore[arg-type]
    trial = None
    if wanted is not None:
        values = msgspec.to_builtins(wanted)
        trial = RoomTrial(**{**values, "participants": frozenset(values["participants"])})
    services().room.set_trial(trial, run=_run())
    return body.answer(version=services().room.version)


@blueprint.put("/progress")
def put_progress() -> flask.Response:
    """Update the progress of the experiment."""
    values: dict[str, Any] = msgspec.to_builtins(body.read(Progress, bytes_max=PROGRESS_BYTES_MAX))
    for note in values["notes"] or ():
        if not is_remark(note["code"]):
            raise Malformed(refusal("remark_unknown", code=note["code"]))
    phase, countdown_to_us = values.pop("phase"), values.pop("countdown_to_us")
    room = services().room
    room.set_progress(
        values, phase=Phase(phase) if phase else None, countdown_to_us=countdown_to_us, run=_run()
    )
    return body.answer(version=room.version, phase=room.phase)


@blueprint.post("/finish")
def finish() -> flask.Response:
    """Finish the experiment with its result."""
    values = msgspec.to_builtins(body.read(Finish, bytes_max=FINISH_BYTES_MAX))
    services().room.finish(values, run=_run())
    return _room()


def _run() -> str:
    """Return the run of the calling runner (`?run=`), so that a late call cannot affect the next experiment.

    Raises `Malformed` without one.
    """
    run = flask.request.args.get("run")
    if not run:
        raise Malformed(refusal("run_missing"))
    return run


def _room(status: int = 200) -> flask.Response:
    url = join_url()
    invitation = services().invitation
    answer = body.answer(
        status,
        **views.operator(services().room, locale.language()),
        join_code=invitation.code,
        join_code_required=services().settings.join_code,
        join_url=url,
        join_url_is_local=reaches_this_machine_only(url),
        screen_url=f"/screen?key={invitation.screen_key}",
    )
    answer.headers["Cache-Control"] = "no-store"
    return answer
