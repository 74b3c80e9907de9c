"""The library's WebSocket classes, made fit for strangers: no compression unless asked, no traceback, a way to cut.

python-engineio's async drivers name a class that turns a WSGI request into a WebSocket; these two take its place,
for eventlet (under our gunicorn worker and `eventlet.wsgi`) and for threads (Werkzeug).
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from app.serving import mode
from app.serving.peer import cut, no_delay, peer_socket

logger = logging.getLogger("siar.websocket")


SOCKET_ATTRIBUTE = "siar_socket"
"""Where the library's session keeps the socket of its WebSocket."""


class _Handled:
    """An empty body that is no list: of a list python-engineio would make an HTTP answer, after an upgrade."""

    def __iter__(self) -> Iterator[bytes]:
        return iter(())


HANDLED = _Handled()
"""What a WSGI application returns when it has taken the connection over; our worker knows it by identity."""


def websocket_class(*, compression: bool) -> Callable[..., Any]:
    """The class for the present mode, in the form that python-engineio's drivers give it."""
    if mode.current() == mode.EVENTLET:
        return _eventlet_class(compression=compression)
    return _threads_class(compression=compression)


class _Debug:
    """A stream for the debug log."""

    @staticmethod
    def write(text: str) -> None:
        logger.debug("%s", text)


def _run(handler: Callable[[Any], Any], websocket: Any) -> None:
    """Serve one WebSocket to its end. Whatever a peer sends, it ends this connection and nothing else.

    The library parses packets outside of its own `try`, so that an unknown packet type would reach the WSGI
    server, which would write an HTTP error into the open WebSocket (reference/conformance.md, 7).
    """
    try:
        handler(websocket)
    except Exception as error:  # noqa: BLE001 - whatever a stranger's bytes cause in the library
        logger.info("A WebSocket peer broke the protocol (%s: %s); closed.", type(error).__name__, error)
        engineio_socket = getattr(handler, "__self__", None)
        if engineio_socket is not None:
            engineio_socket.close(wait=False, abort=True)


def _remember(handler: Callable[[Any], Any], sock: Any) -> None:
    """Note the WebSocket's socket in the library's session: after an upgrade it is not that of the first request."""
    session = getattr(handler, "__self__", None)
    if session is not None:
        setattr(session, SOCKET_ATTRIBUTE, sock)


def _close(connection: Any) -> None:
    """Takes the place of eventlet's `close`, which closes the descriptor under its own reader.

    The reader would then sleep until its timeout of 45 s; after a shutdown it reads the end at once.
    """
    with contextlib.suppress(OSError):
        connection._send_closing_frame(ignore_send_errors=True)
    cut(connection.socket)


def _eventlet_class(*, compression: bool) -> Callable[..., Any]:
    from eventlet import websocket, wsgi

    class EventletWebSocket(websocket.WebSocketWSGI):  # type: ignore[misc]
        """eventlet's own, with the handshake's answers in our hands."""

        def __init__(self, handler: Callable[[Any], Any], server: Any) -> None:
            super().__init__(handler, max_frame_length=int(server.max_http_buffer_size))

        def _negotiate_permessage_deflate(self, extensions: Any) -> Any:
            # Each client's copy would be compressed again: off, unless its cost is the question.
            return super()._negotiate_permessage_deflate(extensions) if compression else None

        def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
            no_delay(environ)
            try:
                # What eventlet says there of a peer that left first is no error.
                connection = self._handle_hybi_request({**environ, "wsgi.errors": _Debug()})
            except (websocket.BadRequest, KeyError) as error:
                status = getattr(error, "status", None) or "400 Bad Request"
                headers = getattr(error, "headers", None) or []
                start_response(status, [("Connection", "close"), ("Content-Length", "0"), *headers])
                return []
            connection.close = lambda: _close(connection)
            _remember(self.handler, connection.socket)
            _run(self.handler, connection)
            connection.close()
            wsgi.WSGI_LOCAL.already_handled = True  # what `eventlet.wsgi` asks for
            return HANDLED

    return EventletWebSocket


def _threads_class(*, compression: bool) -> Callable[..., Any]:
    import simple_websocket
    import simple_websocket.ws
    from engineio.async_drivers._websocket_wsgi import SimpleWebSocketWSGI
    from wsproto.events import AcceptConnection

    class Connection(simple_websocket.Server):  # type: ignore[misc]
        """simple-websocket's server, which would always accept compression."""

        def handshake(self) -> None:
            send = self.ws.send

            def without_extensions(event: Any) -> Any:
                if isinstance(event, AcceptConnection) and not compression:
                    event.extensions.clear()
                return send(event)

            self.ws.send = without_extensions
            super().handshake()

    class ThreadsWebSocket(SimpleWebSocketWSGI):  # type: ignore[misc]
        """The library's wrapper around that connection."""

        def __init__(self, handler: Callable[[Any], Any], server: Any) -> None:
            super().__init__(handler, server)
            self._handler = handler
            self._max_message_size = int(server.max_http_buffer_size)

        def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
            no_delay(environ)
            try:
                self.ws = Connection(environ, max_message_size=self._max_message_size)
            except simple_websocket.ConnectionError:
                start_response("400 Bad Request", [("Content-Length", "0")])
                return []
            _remember(self._handler, peer_socket(environ))
            try:
                _run(self._handler, self)
            finally:
                self.close()
                cut(peer_socket(environ))  # Werkzeug would wait on it for a next request
            if self.ws.mode == "werkzeug":
                raise ConnectionError  # how Werkzeug is told that nothing is to be written any more
            return HANDLED

    return ThreadsWebSocket
