"""`/api/trials`: the runner starts a trial's source, reads its record and closes it. Operator only."""

from __future__ import annotations

from typing import Annotated

import flask
import msgspec

from app.core.errors import Conflict
from app.core.wire import START_AFTER_MS_MAX, Transport
from app.i18n import refusal
from app.server.source import Trial, TrialOrder
from app.server.web import body
from app.server.web.auth import require_operator
from app.server.web.current import services

blueprint = flask.Blueprint("trials", __name__, url_prefix="/api/trials")

ORDER_BYTES_MAX = 4096


def _whole(low: int, high: int) -> msgspec.Meta:
    return msgspec.Meta(ge=low, le=high)


class Order(msgspec.Struct, forbid_unknown_fields=True):
    """The body of a start."""

    run: Annotated[str, msgspec.Meta(pattern=r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")]
    trial: Annotated[int, _whole(0, 1_000_000)]
    block: Annotated[int, _whole(0, 1_000_000)]
    transport: Transport
    notifications: Annotated[int, _whole(1, 100_000)]
    warmup_notifications: Annotated[int, _whole(0, 10_000)]
    rate_hz: Annotated[float, msgspec.Meta(ge=0.01, le=1000)]
    payload_bytes: Annotated[int, _whole(256, 16_384)]
    start_after_ms: Annotated[int, _whole(0, START_AFTER_MS_MAX)]
    drain_ms: Annotated[int, _whole(0, 60_000)]
    instrument: bool = False


@blueprint.before_request
def operator_only() -> None:
    """Restrict trials to the operator, because a trial occupies the source."""
    require_operator()


@blueprint.post("")
def start() -> flask.Response:
    """Fix the trial's schedule and start its source."""
    wanted = body.read(Order, bytes_max=ORDER_BYTES_MAX)
    if services().room.has_ended(wanted.run):
        raise Conflict(refusal("run_has_ended", run=wanted.run))
    trial = services().trials.start(TrialOrder(**msgspec.to_builtins(wanted)))
    answer = flask.jsonify(
        run=trial.order.run,
        trial=trial.order.trial,
        topic=trial.order.topic,
        first_due_us=trial.first_due_us,
        last_due_us=trial.last_due_us,
        ends_us=trial.ends_us,
    )
    answer.status_code = 201
    return answer


@blueprint.get("/<run>/<int:trial>")
def record(run: str, trial: int) -> flask.Response:
    """Return the trial's record so far: what was published, and when."""
    return _record(services().trials.get(run, trial))


@blueprint.get("/<run>/<int:trial>/instrument")
def instrument(run: str, trial: int) -> flask.Response:
    """Return when the kernel took each notification, and TCP_INFO at both ends of a trial that is over."""
    return flask.jsonify(services().trials.instrument(run, trial))


@blueprint.delete("/<run>/<int:trial>")
def close(run: str, trial: int) -> flask.Response:
    """Close a trial: a running source stops, and operators may publish again."""
    return _record(services().trials.close(run, trial))


def _record(trial: Trial) -> flask.Response:
    return flask.jsonify(
        state=trial.state,
        published=trial.published,
        paths=sorted(trial.paths),
        codings=sorted(trial.codings),
        disturbances=trial.disturbances,
        failure=trial.failure,
    )
