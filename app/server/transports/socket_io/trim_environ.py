"""What is kept of a request for as long as its Socket.IO session lives: what Flask's request contexts read.

A whole `environ` takes about 6 KB; with what the WSGI server needed only for the handshake left out, and equal
values of thousands of clients stored once, it is a few hundred bytes.
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
"""Headers that only the handshake needed."""

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
    """What a handler of the session may ask its `request` for: address, path, query, cookies and other headers."""
    found = {
        name: shared(value) if type(value) is str else value
        for name, value in environ.items()
        if name in _KEPT or (name.startswith("HTTP_") and name not in _HANDSHAKE)
    }
    found["wsgi.input"] = _NOTHING_TO_READ
    return found
