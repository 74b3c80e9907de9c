"""The stock WebSocket, as in python-engineio: the driver's own class, a reader, a queue and a writer.

websocket_eventlet.py   eventlet's, under our gunicorn worker and `eventlet.wsgi`
websocket_threads.py    simple-websocket's, for gevent and for threads (Werkzeug)
stock_channel.py        common parts: the queue, the writer, the reader's loop
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from app.core.protocol.deflate import is_offered
from app.server.transports.socket_io.engine import websocket_eventlet, websocket_threads
from app.server.transports.socket_io.engine.attempt import WebSocketAttempt
from app.server.transports.socket_io.engine.server import Compresses, Environ, StartResponse
from app.server.wsgi import mode
from app.server.wsgi.peer import peer_socket
from app.server.wsgi.takeover import SocketOptions, is_too_old, set_options

ServeWebSocket = Callable[[WebSocketAttempt, Environ, StartResponse], Iterable[bytes]]


def stock_websocket(*, compresses: Compresses, options: SocketOptions) -> ServeWebSocket:
    """Return what serves a WebSocket request in the current concurrency mode."""
    is_eventlet = mode.current() == mode.EVENTLET
    make_class = websocket_eventlet.websocket_class if is_eventlet else websocket_threads.websocket_class
    serve = websocket_eventlet.serve if is_eventlet else websocket_threads.serve
    open_plain, open_compressed = make_class(compression=False), make_class(compression=True)

    def serve_websocket(
        attempt: WebSocketAttempt, environ: Environ, start_response: StartResponse
    ) -> Iterable[bytes]:
        set_options(peer_socket(environ), options)
        try:
            if is_too_old(environ):
                start_response("400 Bad Request", [("Connection", "close"), ("Content-Length", "0")])
                return []
            if is_offered(environ.get("HTTP_SEC_WEBSOCKET_EXTENSIONS", "")) and compresses(environ):
                attempt.session.is_deflated = True
                return serve(open_compressed, attempt, environ, start_response)
            return serve(open_plain, attempt, environ, start_response)
        finally:
            attempt.lost()

    return serve_websocket
