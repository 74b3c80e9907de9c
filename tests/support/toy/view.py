"""`GET /lines`. It would be app/server/web/lines.py."""

from __future__ import annotations

import flask

from app.core.position import position_or_unknown
from app.server.broker.base import Filter
from app.server.deliveries import COOKIE
from app.server.transports.base import parse_topics
from app.server.web.current import services
from app.server.web.detached import DetachedResponse
from app.server.wsgi.peer import address_of
from tests.support.toy import NAME
from tests.support.toy.transport import LinesTransport

CONTENT_TYPE = "application/x-ndjson"


def make_blueprint(transport: LinesTransport) -> flask.Blueprint:
    """Return the view that opens the streams of `transport`."""
    blueprint = flask.Blueprint(NAME, __name__)

    @blueprint.get("/lines")
    def lines() -> flask.Response:
        """Subscribe; the response ends when one side closes it."""
        return _open(transport)

    return blueprint


def _open(transport: LinesTransport) -> flask.Response:
    request, environ = flask.request, flask.request.environ
    topics = parse_topics(request.args.getlist("topic"), count_max=services().settings.topics_per_client_max)
    wanted = Filter(NAME, topics, services().devices.from_cookie(request.cookies.get(COOKIE)))
    text = request.args.get("last_event_id")
    since = position_or_unknown(text) if text else None
    services().admission.enter(address_of(environ))
    if services().takes_over(environ):
        return DetachedResponse(
            lambda environ, head: transport.open(wanted, since, environ, head), content_type=CONTENT_TYPE
        )
    connection = transport.open_queue(wanted, since, environ)
    response = flask.Response(transport.stream(connection), content_type=CONTENT_TYPE)
    response.call_on_close(lambda: transport.closed(connection))
    return response
