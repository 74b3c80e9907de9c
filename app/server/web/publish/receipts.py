"""`GET /api/notifications/<id>/receipt`: which devices got a notification, and how fast. Operator only."""

from __future__ import annotations

import flask

from app.server.web import body
from app.server.web.auth import require_operator
from app.server.web.current import services

blueprint = flask.Blueprint("receipts", __name__)


@blueprint.get("/api/notifications/<id>/receipt")
def receipt(id: str) -> flask.Response:
    """Return what devices have posted about the notification so far."""
    require_operator()
    found = services().receipts.get(id)
    name_of = services().room.name_of
    slowest = found.slowest
    answer = body.answer(
        recipients_count=found.recipients_count,
        delivered_count=found.delivered_count,
        slowest=slowest
        and {"device": slowest.device, "name": name_of(slowest.device), "delay_ms": slowest.delay_ms},
        devices=[
            {
                "device": each.device,
                "name": name_of(each.device),
                "transport": each.transport,
                "delay_ms": each.delay_ms,
                "bound_ms": each.bound_ms,
                "outcome": each.outcome,
            }
            for each in list(found.arrivals.values())
        ],
    )
    answer.headers["Cache-Control"] = "no-store"
    return answer
