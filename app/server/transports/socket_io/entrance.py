"""Where requests part: those of Socket.IO go to the library's server, all others past it.

The library's middleware copies the environment of every request and makes a class for it. A class is part of a cycle:
it stays until the collector comes by, and a server with thousands of clients that come and go lives among such leavings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

Environ = dict[str, Any]
StartResponse = Callable[..., Any]


class _Stream:
    """gunicorn's socket, in the form in which eventlet's WebSocket asks for it."""

    __slots__ = ("_sock",)

    def __init__(self, sock: Any) -> None:
        self._sock = sock

    def get_socket(self) -> Any:
        """The connection's socket."""
        return self._sock


class Entrance:
    """A WSGI application in the place of the library's middleware (`flask_socketio.SocketIO.sockio_mw`)."""

    def __init__(self, middleware: Any) -> None:
        self._elsewhere = middleware.wsgi_app
        self._serve = middleware.engineio_app.handle_request
        self._path: str = middleware.engineio_path
        self._flask_app = middleware.flask_app

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        """Serve a request."""
        if not (environ.get("PATH_INFO") or "").startswith(self._path):
            return self._elsewhere(environ, start_response)  # type: ignore[no-any-return]
        # A copy: it is kept for as long as the session lives.
        environ = {**environ, "flask.app": self._flask_app}
        if "gunicorn.socket" in environ:
            environ["eventlet.input"] = _Stream(environ["gunicorn.socket"])
        return self._serve(environ, start_response)  # type: ignore[no-any-return]
