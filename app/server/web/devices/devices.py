"""`GET /api/devices`: connected devices on both transports; `DELETE` disconnects one. Operator only."""

from __future__ import annotations

from typing import Any

import flask

from app.core.errors import Unknown
from app.i18n import refusal
from app.server.fanout.subscribers import Subscriber, disconnect, subscribers
from app.server.web import body
from app.server.web.auth import require_operator
from app.server.web.current import services

blueprint = flask.Blueprint("devices", __name__)

LISTED_MAX = 1000
"""Rows of the table; further devices are only counted."""


@blueprint.get("/api/devices")
def table() -> flask.Response:
    """Return the live table, with a row for each connection of a registered device."""
    require_operator()
    known, anonymous_count = subscribers(services().fanout)
    answer = body.answer(
        devices=[_row(each) for each in known[:LISTED_MAX]],
        left_off=max(0, len(known) - LISTED_MAX),
        anonymous_count=anonymous_count,
    )
    answer.headers["Cache-Control"] = "no-store"
    return answer


@blueprint.delete("/api/devices/<device>")
def cut_off(device: str) -> flask.Response:
    """Close a device's connections; a client that wants to stay reconnects and resumes."""
    require_operator()
    count = disconnect(services().fanout, device)
    if not count:
        raise Unknown(refusal("device_not_connected", device=device[:64]))
    return body.answer(disconnected_count=count)


def _row(subscriber: Subscriber) -> dict[str, Any]:
    device = subscriber.device
    report = services().room.reports.get(device)
    return {
        "device": device,
        "name": services().room.name_of(device),
        "transport": subscriber.transport,
        "path": subscriber.path,
        "connected_us": subscriber.connected_us,
        "rtt_ms": report.rtt_ms if report else None,
        "jitter_ms": report.jitter_ms if report else None,
        "clock_bound_ms": report.clock_bound_ms if report else None,
        "last_seen_us": report.last_seen_us if report else None,
        "buffered_bytes": subscriber.buffered_bytes,
        "topics": None if subscriber.topics is None else sorted(subscriber.topics),
    }
