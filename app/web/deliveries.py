"""`/api/devices` and `/api/deliveries`: phones say who they are and post what they measured."""

from __future__ import annotations

from typing import Annotated, Literal

import flask
import msgspec

from app.core.delivery import SampleState
from app.core.errors import Unknown
from app.core.wire import DELIVERIES_BODY_BYTES_MAX, OFFSET_MAX, SAMPLES_PER_BATCH_MAX
from app.deliveries import COOKIE
from app.web import body
from app.web.auth import require_device
from app.web.here import services

blueprint = flask.Blueprint("deliveries", __name__)

DEVICE_BODY_BYTES_MAX = 1024

COOKIE_AGE_S = 30 * 24 * 3600

_Stamp = Annotated[int, msgspec.Meta(ge=0, le=OFFSET_MAX)]
"""Server time, microseconds."""

_ClientStamp = Annotated[float, msgspec.Meta(ge=-1e16, le=1e16)]
"""A client's own clock, or what is added to it, microseconds."""

_Bound = Annotated[float, msgspec.Meta(ge=0, le=1e12)]


class Device(msgspec.Struct, forbid_unknown_fields=True):
    """The body of a registration."""

    name: Annotated[str, msgspec.Meta(max_length=40)] | None = None


class Sample(msgspec.Struct, forbid_unknown_fields=True):
    """One arrival; the names and units of core/delivery.py."""

    id: Annotated[str, msgspec.Meta(min_length=3, max_length=64)]
    transport: Literal["sse", "socketio"]
    due_us: _Stamp
    sent_us: _Stamp
    received_client_us: _ClientStamp
    state: SampleState
    outcome: Literal["on_time", "late", "replayed", "duplicate"]
    visible: bool
    displayed_client_us: _ClientStamp | None = None
    clock_offset_us: _ClientStamp | None = None
    clock_bound_us: _Bound | None = None


class Batch(msgspec.Struct, forbid_unknown_fields=True):
    """The body of a post of deliveries."""

    batch_id: Annotated[str, msgspec.Meta(pattern=r"\A[A-Za-z0-9_-]{8,64}\Z")]
    device: Annotated[str, msgspec.Meta(max_length=64)]
    clock_channel: Literal["websocket", "http"]
    timebase: Annotated[str, msgspec.Meta(max_length=64)]
    samples: Annotated[list[Sample], msgspec.Meta(min_length=1, max_length=SAMPLES_PER_BATCH_MAX)]
    run: Annotated[str, msgspec.Meta(max_length=64)] | None = None
    trial: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)] | None = None


@blueprint.post("/api/devices")
def register() -> flask.Response:
    """A new device with its token; the cookie makes it known on both transports."""
    body.read(Device, bytes_max=DEVICE_BODY_BYTES_MAX)
    device, token = services().devices.register()
    answer = flask.jsonify(device=device, token=token)
    answer.status_code = 201
    answer.set_cookie(COOKIE, f"{device}.{token}", max_age=COOKIE_AGE_S, httponly=True, samesite="Strict")
    return answer


@blueprint.post("/api/deliveries")
def post() -> flask.Response:
    """Take a batch of measured arrivals; the same batch again is taken once."""
    batch = body.read(Batch, bytes_max=DELIVERIES_BODY_BYTES_MAX)
    require_device(batch.device)
    run = services().run if batch.run is None else batch.run
    if run != services().run and run not in services().trials.runs:
        raise Unknown(f"There is no run {run!r} here; leave `run` out to post to the live one.")
    if batch.trial is not None:
        services().trials.get(run, batch.trial)
    fresh = services().spool.accept(run, batch.device, msgspec.to_builtins(batch))
    return flask.jsonify(accepted=len(batch.samples) if fresh else 0, duplicate=not fresh)
