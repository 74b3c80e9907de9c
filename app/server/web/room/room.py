"""`/api/room`: the operator opens, starts, pauses and closes it; the runner says what the phones are to do."""

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
"""200 device ids and what is said of the trial."""

PROGRESS_BYTES_MAX = 131_072

FINISH_BYTES_MAX = 262_144


@blueprint.before_request
def operator_only() -> None:
    """Who is in the room, and what happens in it, is the operator's."""
    require_operator()


@blueprint.get("")
def read() -> flask.Response:
    """Everything. A runner names its run (`?run=`), by which the room knows that it lives."""
    run = flask.request.args.get("run")
    if run is not None:
        services().room.hear_runner(run)
    return _room()


@blueprint.post("")
def open_room() -> flask.Response:
    """Let phones gather for an experiment."""
    wanted = body.read(Opening, bytes_max=OPENING_BYTES_MAX)
    services().room.open(Experiment(**msgspec.to_builtins(wanted)))
    return _room(201)


@blueprint.delete("")
def close() -> flask.Response:
    """Cancel the experiment, or put a finished one away; a runner names its own (`?run=`), an operator means any."""
    room, experiment = services().room, services().room.experiment
    room.close(run=flask.request.args.get("run"))
    if experiment is not None:
        services().trials.give_up(experiment.run)
    return _room()


@blueprint.post("/start")
def start() -> flask.Response:
    """Start with who is ready."""
    services().room.start()
    return _room()


@blueprint.post("/pause")
def pause() -> flask.Response:
    """Pause when the present trial is over."""
    services().room.pause()
    return _room()


@blueprint.post("/resume")
def resume() -> flask.Response:
    """Go on after a pause."""
    services().room.resume()
    return _room()


@blueprint.post("/practice")
def practise() -> flask.Response:
    """A practice round with who is here; nothing of it is kept."""
    services().practice.begin()
    return _room()


@blueprint.delete("/participants/<device>")
def remove(device: str) -> flask.Response:
    """Send a device away until the next experiment."""
    services().room.remove(device)
    return _room()


@blueprint.put("/trial")
def put_trial() -> flask.Response:
    """What phones are to do next; `null` between trials."""
    wanted: Any = body.read(TrialForPhones | None, bytes_max=TRIAL_BYTES_MAX)  # type: ignore[arg-type]
    trial = None
    if wanted is not None:
        said = msgspec.to_builtins(wanted)
        trial = RoomTrial(**{**said, "participants": frozenset(said["participants"])})
    services().room.set_trial(trial, run=_run())
    return body.answer(version=services().room.version)


@blueprint.put("/progress")
def put_progress() -> flask.Response:
    """How far it is."""
    said: dict[str, Any] = msgspec.to_builtins(body.read(Progress, bytes_max=PROGRESS_BYTES_MAX))
    for note in said["notes"] or ():
        if not is_remark(note["code"]):
            raise Malformed(refusal("remark_unknown", code=note["code"]))
    phase, countdown_to_us = said.pop("phase"), said.pop("countdown_to_us")
    room = services().room
    room.set_progress(
        said, phase=Phase(phase) if phase else None, countdown_to_us=countdown_to_us, run=_run()
    )
    return body.answer(version=room.version, phase=room.phase)


@blueprint.post("/finish")
def finish() -> flask.Response:
    """It is over, and this came out."""
    said = msgspec.to_builtins(body.read(Finish, bytes_max=FINISH_BYTES_MAX))
    services().room.finish(said, run=_run())
    return _room()


def _run() -> str:
    """The run that a runner speaks for (`?run=`): what one says late must not reach the next experiment.

    Raises `Malformed` when it names none.
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
