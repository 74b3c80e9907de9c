"""Restrictions if several processes or servers share a broker: state that only one process has is refused with a reason.

All that goes through the broker works as usual: publishing, history, both transports, and resuming on any process.
The room with its phones, a trial's source, a running experiment, operators' sessions, receipts and the table of connected
devices live in one process's memory, and the next request may reach another process.
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
"""Blueprints refused with several workers. A phone's own (`assignment`, `participants`) remain, with little to do."""

NEEDS_ROOMS = frozenset({"room.open_room", "room.practise", "runs.start", "participants.join"})
"""Endpoints that need a room. Of several servers on one Redis, only one has rooms (`redis_rooms`)."""

TRY_AGAIN_S = 1


def register(app: flask.Flask, *, workers: int) -> None:
    """Refuse what several processes cannot do, and respond with 503 while the broker is unreachable."""

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
