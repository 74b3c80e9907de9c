"""`GET /events`: the SSE stream."""

from __future__ import annotations

import time

import flask

from app.core.errors import Malformed
from app.core.position import Position, position_or_unknown
from app.core.protocol.event_stream import CONTENT_TYPE
from app.core.wire import TRANSPORT_SSE
from app.i18n import refusal
from app.server.broker.base import Filter
from app.server.deliveries import COOKIE
from app.server.transports.base import parse_topics
from app.server.transports.sse import FORM_DEFLATED, FORM_PLAIN, SseTransport
from app.server.web.current import services
from app.server.web.detached import DetachedResponse
from app.server.wsgi import connection_limiter
from app.server.wsgi.peer import address_of

HEADERS = {
    "Cache-Control": "no-store, no-transform",  # A proxy that compresses would delay events (RFC 9111, 5.2.2.6).
    "X-Accel-Buffering": "no",  # Otherwise nginx buffers events.
}

RESUME_NAMES = ("last_event_id", "lastEventId", "last-event-id", "Last-Event-ID")
"""Names of the position in a query: ours, those of EventSource polyfills, and of Mercure's clients."""

KNOWN_NAMES = frozenset({"topic", "fanout", *RESUME_NAMES})

POSITION = "Siar-Position"
"""On a resume: the end of history, by which a measuring program recognises replays. The first event's id is the client's own
position instead, so that a client that breaks off there misses nothing."""


def make_blueprint(sse: SseTransport) -> flask.Blueprint:
    """Return the view that opens the streams of `sse`."""
    blueprint = flask.Blueprint("events", __name__)

    @blueprint.get("/events")
    def events() -> flask.Response:
        """Subscribe to notifications; the response lasts until one side ends it."""
        return _open(sse)

    return blueprint


def _open(sse: SseTransport) -> flask.Response:
    _check_query()
    wanted = Filter(
        TRANSPORT_SSE,
        parse_topics(
            flask.request.args.getlist("topic"), count_max=services().settings.topics_per_client_max
        ),
        services().devices.from_cookie(flask.request.cookies.get(COOKIE)),
    )
    environ = flask.request.environ
    if flask.request.method == "HEAD":
        # The same headers as for the stream (RFC 9110, section 9.3.2).
        services().admission.check(address_of(environ))
        head = flask.Response(content_type=CONTENT_TYPE, headers=HEADERS)
        head.automatically_set_content_length = False  # A stream has no length (RFC 9110, section 8.6).
        return head
    since = _since()
    if since is not None:
        count = services().broker.newer_count(since)
        time.sleep(connection_limiter.wait_s(address_of(environ), count * connection_limiter.RESUMED))
    headers = HEADERS if since is None else {**HEADERS, POSITION: str(services().broker.position())}
    encoding = FORM_PLAIN
    if flask.request.accept_encodings["gzip"] > 0 and services().compresses(environ):
        encoding, headers = FORM_DEFLATED, {**headers, "Content-Encoding": "gzip"}
    services().admission.enter(address_of(environ))
    if services().takes_over(environ):
        return DetachedResponse(
            lambda environ, head: sse.open(wanted, since, environ, head, encoding),
            content_type=CONTENT_TYPE,
            headers=headers,
        )
    return _stock(sse, wanted, since, encoding, headers)


def _stock(
    sse: SseTransport, wanted: Filter, since: Position | None, encoding: str, headers: dict[str, str]
) -> flask.Response:
    """Return the stream as an ordinary response, on the WSGI server's connection and thread."""
    connection = sse.open_queue(wanted, since, flask.request.environ, encoding)
    response = flask.Response(sse.stream(connection), content_type=CONTENT_TYPE, headers=headers)
    response.call_on_close(lambda: sse.closed(connection))
    return response


def _check_query() -> None:
    """Refuse a misspelt parameter, which would be ignored silently; `_...` is some clients' cache buster."""
    for name in flask.request.args:
        if name not in KNOWN_NAMES and not name.startswith("_"):
            raise Malformed(refusal("query_unknown", name=name[:64], known=", ".join(sorted(KNOWN_NAMES))))


def _since() -> Position | None:
    """Return the position to resume from: `Last-Event-ID`, which browsers update on each reconnect, before the query."""
    named = (flask.request.args.get(name) for name in RESUME_NAMES)
    text = flask.request.headers.get("Last-Event-ID") or next(filter(None, named), None)
    return position_or_unknown(text) if text else None
