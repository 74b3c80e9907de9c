"""Reduce a request's `environ` to what Flask's request contexts read, for the lifetime of a Socket.IO session.

A whole `environ` takes about 6 KB. Without the values that only the handshake needed, and with equal values of thousands
of clients stored once, it takes a few hundred bytes.
"""

from __future__ import annotations

import io
from typing import Any

from app.server.wsgi.shared_text import shared

_HANDSHAKE = frozenset(
    {
        "HTTP_ACCEPT_ENCODING",
        "HTTP_CACHE_CONTROL",
        "HTTP_CONNECTION",
        "HTTP_PRAGMA",
        "HTTP_SEC_WEBSOCKET_EXTENSIONS",
        "HTTP_SEC_WEBSOCKET_KEY",
        "HTTP_SEC_WEBSOCKET_VERSION",
        "HTTP_UPGRADE",
    }
)
"""Headers that only the handshake needs."""

_KEPT = frozenset(
    {
        "PATH_INFO",
        "QUERY_STRING",
        "REMOTE_ADDR",
        "REQUEST_METHOD",
        "SCRIPT_NAME",
        "SERVER_NAME",
        "SERVER_PORT",
        "SERVER_PROTOCOL",
        "flask.app",
        "wsgi.url_scheme",
    }
)

_NOTHING_TO_READ = io.BytesIO()


def kept(environ: dict[str, Any]) -> dict[str, Any]:
    """Return what a session's handler may read from its `request`: address, path, query, cookies and other headers."""
    found = {
        name: shared(value) if type(value) is str else value
        for name, value in environ.items()
        if name in _KEPT or (name.startswith("HTTP_") and name not in _HANDSHAKE)
    }
    found["wsgi.input"] = _NOTHING_TO_READ
    return found
