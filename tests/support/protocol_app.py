"""A small server on the classes that serve Socket.IO in Siar, with the endpoints that the official test suites expect.

Engine.IO at `/engine.io/` echoes every message. Socket.IO at `/socket.io/`: `auth` on connect, `message` answered by
`message-back`, `message-with-ack` acknowledged with its arguments; the same in the namespace `/custom`. Some more
events serve our own tests.

    gunicorn -c gunicorn.conf.py "tests.support.protocol_app:create_app(ping_interval_s=0.3, ping_timeout_s=0.2)"
    python -m tests.support.protocol_app '{"ping_interval_s": 0.3, "ping_timeout_s": 0.2}'     (threads, port SIAR_PORT)
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import engineio
import flask
import flask_socketio
from flask_socketio import SocketIO

from app.server.fanout.flusher import Flusher
from app.server.transports.socket_io.engine.direct_websocket import DetachedWebSocket, direct_websocket
from app.server.transports.socket_io.engine.limits import IncomingLimits
from app.server.transports.socket_io.engine.server import EngineServer, never
from app.server.transports.socket_io.engine.websocket import ServeWebSocket, stock_websocket
from app.server.transports.socket_io.protocol import StrictPacket, conform
from app.server.wsgi import mode
from app.server.wsgi.loop import Loop
from app.server.wsgi.takeover import SocketOptions

NAMESPACES = ("/", "/custom")

OPTIONS = SocketOptions(send_buffer_bytes=65_536, peer_timeout_ms=20_000)


def _websocket(fanout: str, *, max_payload: int) -> ServeWebSocket:
    stock = stock_websocket(compresses=never, options=OPTIONS)
    if fanout == "stock":
        return stock
    flusher = Flusher(Loop(), frames_max=1_000, bytes_max=16 * max_payload)
    return direct_websocket(
        lambda taken, attempt: DetachedWebSocket(flusher, taken, attempt, message_bytes_max=max_payload),
        compresses=never,
        options=OPTIONS,
        otherwise=stock,
    )


def create_app(
    *,
    ping_interval_s: float = 25.0,
    ping_timeout_s: float = 20.0,
    connect_timeout_s: float = 45.0,
    max_payload: int = 1_000_000,
    last_poll_s: float = 0.1,
    overtaking_s: float = 0.02,
    fanout: str = "stock",
) -> flask.Flask:
    """Return the application; the official suites use 0.3, 0.2, 1.0 and the other defaults."""
    options: dict[str, Any] = {
        "websocket": _websocket(fanout, max_payload=max_payload),
        "async_mode": mode.current(),
        "cors_allowed_origins": "*",
        "ping_interval": ping_interval_s,
        "ping_timeout": ping_timeout_s,
        "max_http_buffer_size": max_payload,
        "limits": IncomingLimits(last_poll_s=last_poll_s, overtaking_s=overtaking_s),
    }
    app = flask.Flask(__name__)
    app.add_url_rule("/readyz", "ready", lambda: "ready")
    app.add_url_rule("/version", "version", lambda: {"run": "", "clock_port": None})
    extension = SocketIO(app, async_mode=mode.current(), async_handlers=False, serializer=StrictPacket)
    conform(extension.server, EngineServer(**options, connect_timeout_s=connect_timeout_s))
    for namespace in NAMESPACES:
        _answer(extension, namespace)
    echo = EngineServer(**options)
    echo.on("message", lambda sid, data: echo.disconnect(sid) if data == "end me" else echo.send(sid, data))
    _tell_sessions(app, echo)
    app.wsgi_app = engineio.WSGIApp(echo, app.wsgi_app)  # type: ignore[method-assign]
    return app


def _answer(extension: SocketIO, namespace: str) -> None:
    def connect(auth: Any) -> None:
        if isinstance(auth, dict) and "refuse" in auth:
            flask_socketio.emit("auth", "for nobody")
            raise flask_socketio.ConnectionRefusedError(auth["refuse"])
        flask_socketio.emit("auth", auth or {})

    def ask(*arguments: Any) -> None:
        sid = flask.request.sid  # type: ignore[attr-defined]

        def answered(*answer: Any) -> None:
            extension.emit("answered", answer, to=sid, namespace=namespace)

        flask_socketio.emit("question", arguments, callback=answered)

    extension.on_event("connect", connect, namespace)
    extension.on_event("message", lambda *a: flask_socketio.emit("message-back", a), namespace)
    extension.on_event("message-with-ack", lambda *a: a, namespace)
    extension.on_event("ask", ask, namespace)
    extension.on_event("leave", flask_socketio.disconnect, namespace)
    extension.on_event(
        "broadcast", lambda *a: extension.emit("news", a, namespace=namespace) or None, namespace
    )


def _tell_sessions(app: flask.Flask, echo: EngineServer) -> None:
    """Add `/sessions/<sid>`, which returns an Engine.IO session's state or end, so that tests need not sleep."""
    ended: dict[str, str] = {}
    echo.on("disconnect", ended.__setitem__)

    def tell(sid: str) -> dict[str, Any]:
        session = echo.sockets.get(sid)
        if session is None:
            return {"ended": ended.get(sid)}
        return {
            "is_polled": session.outgoing.is_polled,
            "is_posting": session.is_posting,
            "is_upgrading": session.upgrade_attempt is not None,
            "is_upgraded": session.upgraded,
        }

    app.add_url_rule("/sessions/<sid>", "sessions", tell)


if __name__ == "__main__":
    from werkzeug.serving import run_simple

    run_simple(
        "127.0.0.1",
        int(os.environ["SIAR_PORT"]),
        create_app(**json.loads(sys.argv[1])),
        threaded=True,
    )
