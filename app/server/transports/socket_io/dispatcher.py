"""WSGI entry point: requests for Socket.IO go to the library's server, all others directly to the Flask application.

The library's middleware copies every request's environment and creates a class for it. A class is part of a reference
cycle, so it stays until the garbage collector runs; with thousands of reconnecting clients this adds up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from app.server.transports.base import WsgiApp

Environ = dict[str, Any]
StartResponse = Callable[..., Any]


class _Stream:
    """Adapter for gunicorn's socket with the method that eventlet's WebSocket calls."""

    __slots__ = ("_sock",)

    def __init__(self, sock: Any) -> None:
        self._sock = sock

    def get_socket(self) -> Any:
        """Return the connection's socket."""
        return self._sock


class SocketIoDispatcher:
    """WSGI middleware that replaces the library's own (`flask_socketio.SocketIO.sockio_mw`) around `app`."""

    def __init__(self, app: WsgiApp, middleware: Any) -> None:
        self._serve_others = app
        self._serve = middleware.engineio_app.handle_request
        self._path: str = middleware.engineio_path
        self._flask_app = middleware.flask_app

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        """Serve a request."""
        if not (environ.get("PATH_INFO") or "").startswith(self._path):
            return self._serve_others(environ, start_response)
        # A copy, because the session keeps it for as long as it lives.
        environ = {**environ, "flask.app": self._flask_app}
        if "gunicorn.socket" in environ:
            environ["eventlet.input"] = _Stream(environ["gunicorn.socket"])
        return self._serve(environ, start_response)  # type: ignore[no-any-return]
