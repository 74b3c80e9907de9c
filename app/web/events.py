"""`GET /events`: the SSE stream."""

from __future__ import annotations

import flask

from app.broker.base import Filter
from app.core.event_stream import CONTENT_TYPE
from app.core.position import Position, position_or_unknown
from app.core.wire import TRANSPORT_SSE
from app.deliveries import COOKIE
from app.fanout import TooManyConnections
from app.serving.peer import peer_socket
from app.serving.takeover import set_options
from app.transports.base import parse_topics
from app.web.detached import DetachedResponse
from app.web.here import services

blueprint = flask.Blueprint("events", __name__)

HEADERS = {
    "Cache-Control": "no-store",
    "X-Accel-Buffering": "no",  # nginx would hold events back
}


@blueprint.get("/events")
def events() -> flask.Response:
    """Subscribe; the response ends when one side goes away."""
    wanted = Filter(
        TRANSPORT_SSE,
        parse_topics(flask.request.args.getlist("topic")),
        services().devices.from_cookie(flask.request.cookies.get(COOKIE)),
    )
    if flask.request.method == "HEAD":
        return flask.Response(content_type=CONTENT_TYPE, headers=HEADERS)
    since = _since()
    if services().fanout.is_full():
        raise TooManyConnections
    if services().takes_over(flask.request.environ):
        return _direct(wanted, since)
    return _stock(wanted, since)


def _direct(wanted: Filter, since: Position | None) -> flask.Response:
    """On a socket of our own."""
    sse = services().sse
    return DetachedResponse(
        lambda taken, head: sse.open(wanted, since, taken, head),
        services().socket_options,
        content_type=CONTENT_TYPE,
        headers=HEADERS,
    )


def _stock(wanted: Filter, since: Position | None) -> flask.Response:
    """On the WSGI server's connection and in its thread."""
    environ = flask.request.environ
    set_options(peer_socket(environ), services().socket_options)
    sse = services().sse
    connection = sse.open_queue(wanted, since, peer_socket(environ))
    response = flask.Response(sse.stream(connection), content_type=CONTENT_TYPE, headers=HEADERS)
    response.call_on_close(lambda: sse.closed(connection))
    return response


def _since() -> Position | None:
    """Where the client left off: `Last-Event-ID` wins over the query, since a browser sends it on each reconnect."""
    text = flask.request.headers.get("Last-Event-ID") or flask.request.args.get("last_event_id")
    return position_or_unknown(text) if text else None
