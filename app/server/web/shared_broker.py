"""What changes when several processes or servers share a broker: what one process alone remembers is refused, in words.

Everything that goes through the broker is as it was: publishing, history, both transports, resuming on any process.
A room with its phones, a trial's source, a running experiment, an operator's session, a receipt and the table of who is
connected live in the memory of one process, and the next request may reach another one.
"""

from __future__ import annotations

import flask

from app.core.errors import BrokerAway, Conflict
from app.i18n import refusal
from app.server.web.current import services
from app.server.web.errors import problem

NEEDS_ONE_PROCESS = frozenset(
    {
        *("operator_pages", "sessions", "presets", "room", "runs", "trials", "receipts", "devices"),
        *("screen_data", "screen_downloads"),
    }
)
"""Blueprints. A phone's own (`assignment`, `participants`) stay: with no room they have little to say."""

NEEDS_ROOMS = frozenset({"room.open_room", "room.practise", "runs.start", "participants.join"})
"""What puts phones into a room, or asks for one. Of several servers on one Redis, only one has rooms (`redis_rooms`)."""

TRY_AGAIN_S = 1


def register(app: flask.Flask, *, workers: int) -> None:
    """Refuse what cannot be done with so many processes, and answer for a broker that is away."""

    @app.errorhandler(BrokerAway)
    def away(_error: BrokerAway) -> flask.Response:
        response = problem(503, refusal("broker_away"))
        response.headers["Retry-After"] = str(TRY_AGAIN_S)
        return response

    @app.before_request
    def one_server_only() -> None:
        if flask.request.endpoint in NEEDS_ROOMS and not services().broker.has_rooms:
            raise Conflict(refusal("rooms_elsewhere"))

    if workers > 1:

        @app.before_request
        def one_process_only() -> None:
            if flask.request.blueprint in NEEDS_ONE_PROCESS:
                raise Conflict(refusal("one_process_only", count=services().settings.workers))
