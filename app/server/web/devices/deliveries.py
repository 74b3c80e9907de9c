"""`/api/devices` and `/api/deliveries`: phones register, post their measurements, and have them deleted."""

from __future__ import annotations

import logging
from typing import Annotated, Any, Literal

import flask
import msgspec
from werkzeug.exceptions import TooManyRequests

from app import clock
from app.core.delivery import SampleState
from app.core.errors import Conflict, Malformed, StoreError, Unknown
from app.core.wire import DELIVERIES_BODY_BYTES_MAX, OFFSET_MAX, SAMPLES_PER_BATCH_MAX, Transport
from app.i18n import refusal
from app.server.deliveries import COOKIE, DeviceFull, NetworkFull, SpoolFull
from app.server.practice import is_practice
from app.server.room.clean_name import clean_name
from app.server.room.phases import UNDER_WAY, Phase
from app.server.web import body
from app.server.web.auth import require_device
from app.server.web.current import cookie_path, services
from app.server.web.devices.device import network_here, require_registered
from app.server.wsgi.offload import blocking
from app.store.archive.forget import forget_device

logger = logging.getLogger("siar.deliveries")

blueprint = flask.Blueprint("deliveries", __name__)

DEVICE_BODY_BYTES_MAX = 1024

COOKIE_AGE_S = 30 * 24 * 3600

_Stamp = Annotated[int, msgspec.Meta(ge=0, le=OFFSET_MAX)]
"""Server time in microseconds."""

_ClientStamp = Annotated[float, msgspec.Meta(ge=-1e16, le=1e16)]
"""A client's own clock, or an offset to it, in microseconds."""

_Bound = Annotated[float, msgspec.Meta(ge=0, le=1e12)]


_Count = Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]

_Kind = Annotated[str, msgspec.Meta(pattern=r"\A[a-z_]{1,24}\Z")]
"""Name of a lifecycle event: `visible`, `hidden`, `freeze`, `resume`, `pagehide`, `pageshow`, `online`, `offline`, `reload`."""

EVENTS_MAX = 32
"""Upper bound per trial; a page with more events reports their totals."""


PROBES_PER_BATCH_MAX = 400
"""As many as fit into a body; a phone sends this many clock probes in five minutes."""

_Probe = tuple[_Count, _ClientStamp, _ClientStamp, _ClientStamp, _ClientStamp]
"""Number of restarts of the phone's clock estimate, and the four stamps of a clock probe."""


class Device(msgspec.Struct, forbid_unknown_fields=True):
    """The body of a registration."""

    name: Annotated[str, msgspec.Meta(max_length=40)] | None = None


class Sample(msgspec.Struct, forbid_unknown_fields=True):
    """One arrival, with the names and units of core/delivery.py."""

    id: Annotated[str, msgspec.Meta(min_length=3, max_length=64)]
    transport: Transport
    due_us: _Stamp
    sent_us: _Stamp
    received_client_us: _ClientStamp
    state: SampleState
    outcome: Literal["on_time", "late", "replayed", "duplicate"]
    visible: bool
    displayed_client_us: _ClientStamp | None = None
    clock_offset_us: _ClientStamp | None = None
    clock_bound_us: _Bound | None = None
    lifecycle: Literal["visible", "hidden", "frozen", "resumed"] | None = None
    """The page's lifecycle state at the arrival."""

    def __post_init__(self) -> None:
        """Derive the lifecycle state of a page that reports only whether it was visible."""
        if self.lifecycle is None:
            self.lifecycle = "visible" if self.visible else "hidden"


class ConductDevice(msgspec.Struct, forbid_unknown_fields=True):
    """Capabilities of a phone, as far as its browser reveals them."""

    secure_context: bool
    wake_lock: bool
    timer_step_us: _Bound
    model: Annotated[str, msgspec.Meta(max_length=80)] | None = None
    browser: Annotated[str, msgspec.Meta(max_length=80)] | None = None
    radio_jitter_ms: _Bound | None = None
    rtt_ms: _Bound | None = None

    def __post_init__(self) -> None:
        """Clean the texts, which are shown in reports and on terminals."""
        self.model = clean_name(self.model or "") or None
        self.browser = clean_name(self.browser or "") or None


class Conduct(msgspec.Struct, forbid_unknown_fields=True):
    """Behaviour of a phone during one trial; part of the trial's last batch."""

    disconnects: _Count
    hidden_ms: _Bound
    frozen_ms: _Bound
    clock_steps: _Count
    suspended_ms: _Bound
    expected_count: _Count
    received_count: _Count
    device: ConductDevice
    events: Annotated[list[tuple[_ClientStamp, _Kind]], msgspec.Meta(max_length=EVENTS_MAX)] = []
    """Lifecycle events with their times on the client's own clock."""
    wall_ahead_us: _ClientStamp | None = None
    """Offset of the phone's wall clock from its own clock; it corrects nothing."""


class Batch(msgspec.Struct, forbid_unknown_fields=True):
    """The body of a post of deliveries."""

    batch_id: Annotated[str, msgspec.Meta(pattern=r"\A[A-Za-z0-9_-]{8,64}\Z")]
    device: Annotated[str, msgspec.Meta(max_length=64)]
    clock_channel: Literal["websocket", "http"]
    timebase: Annotated[str, msgspec.Meta(max_length=64)]
    samples: Annotated[list[Sample], msgspec.Meta(max_length=SAMPLES_PER_BATCH_MAX)]
    run: Annotated[str, msgspec.Meta(max_length=64)] | None = None
    trial: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)] | None = None
    conduct: Conduct | None = None
    probes: Annotated[list[_Probe], msgspec.Meta(max_length=PROBES_PER_BATCH_MAX)] = []
    """Clock probes from which the trial's delays were derived, for recomputation; all in `timebase`."""


@blueprint.post("/api/devices")
def register() -> flask.Response:
    """Register a device; return its id and token. The cookie identifies it on both transports."""
    wanted = body.read(Device, bytes_max=DEVICE_BODY_BYTES_MAX)
    parts = services()
    device, token = parts.devices.register()
    name = clean_name(wanted.name or "")
    if name:
        parts.room.reports.merge(device, {}, now_us=parts.clock.now_us(), name=name)
    answer = flask.jsonify(device=device, token=token)
    answer.status_code = 201
    answer.set_cookie(
        COOKIE,
        f"{device}.{token}",
        max_age=COOKIE_AGE_S,
        path=cookie_path(),
        httponly=True,
        samesite="Strict",
        secure=flask.request.is_secure,
    )
    return answer


@blueprint.post("/api/deliveries")
def post() -> flask.Response:
    """Accept a batch of measured arrivals; a repeated batch is accepted once."""
    batch = body.read(Batch, bytes_max=DELIVERIES_BODY_BYTES_MAX)
    require_device(batch.device)
    _check_parts(batch)
    parts = services()
    run = parts.run if batch.run is None else batch.run
    if run != parts.run and run not in parts.trials.runs:
        raise Unknown(refusal("no_such_live_run", run=run))
    # 409 makes a phone drop the batch; after 401 or 403 it would renew its identity and post again.
    if parts.room.has_ended(run):
        raise Conflict(refusal("deliveries_too_late"))
    if parts.room.excludes(batch.device, run):
        raise Conflict(refusal("no_participant"))
    if batch.trial is not None:
        parts.trials.get(run, batch.trial)
    record = msgspec.to_builtins(batch)
    try:
        # Samples of a practice round are for the phone itself and not stored.
        taken = (
            parts.spool.sent_after_deletion(batch.device, record["samples"])
            if is_practice(run)
            else parts.spool.accept(run, batch.device, record, network=network_here())
        )
    except (DeviceFull, NetworkFull, SpoolFull):
        # Receipts are in memory, so the operator sees the arrivals even if they are not stored.
        _update_operator_page(batch.device, parts.spool.sent_after_deletion(batch.device, record["samples"]))
        raise
    if taken is None:
        return flask.jsonify(accepted=0, duplicate=True)
    if taken or not batch.samples:
        _update_operator_page(batch.device, taken)
    return flask.jsonify(accepted=len(taken), duplicate=False)


@blueprint.delete("/api/deliveries")
def forget() -> flask.Response:
    """Delete what was recorded about this device, in every stored run and on this server."""
    device = require_registered()
    parts = services()
    wait_us = parts.forget_rate.wait_us(network_here(), parts.clock.monotonic_us())
    if wait_us:
        raise TooManyRequests(refusal("forget_later"), retry_after=-(-wait_us // 1_000_000))
    # A runner whose room was closed is still writing its report, which would restore what is deleted now.
    is_reporting = parts.room.phase is Phase.CLOSED and parts.runners.running() is not None
    if parts.room.phase in UNDER_WAY or parts.trials.active() is not None or is_reporting:
        raise Conflict(refusal("forget_when_over"))
    parts.spool.forget(device, clock.now_us())  # First, so that concurrent posts are rejected too.
    live = parts.run if parts.settings.recorder else None
    removal = blocking(forget_device, parts.settings.runs_dir, device, live=live)
    receipts_count = parts.receipts.forget(device)
    parts.room.forget(device)
    if removal.failed:
        logger.error("Not everything about a device could be deleted in: %s", ", ".join(removal.failed))
        raise StoreError(refusal("forget_failed"))
    return body.answer(
        runs_count=len(removal.runs),
        batches_count=removal.rows.batches,
        samples_count=removal.rows.samples,
        deliveries_count=removal.rows.deliveries,
        spooled_count=removal.spooled,
        results_count=removal.results,
        receipts_count=receipts_count,
    )


def _check_parts(batch: Batch) -> None:
    """Raise `Malformed` for a batch without content, or without the trial that its content belongs to."""
    if not batch.samples and batch.conduct is None and not batch.probes:
        raise Malformed(refusal("batch_empty"))
    if (batch.conduct is not None or batch.probes) and batch.trial is None:
        raise Malformed(refusal("conduct_without_trial"))


def _update_operator_page(device: str, samples: list[dict[str, Any]]) -> None:
    """Update what the operator's page shows: receipts, and the device's clock error."""
    parts = services()
    parts.receipts.arrived(device, samples)
    bounds_us = [each["clock_bound_us"] for each in samples if each["clock_bound_us"] is not None]
    figures = {"clock_bound_ms": bounds_us[-1] / 1000} if bounds_us else {}
    parts.room.reports.merge(device, figures, now_us=parts.clock.now_us())
