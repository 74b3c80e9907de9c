"""A response that takes its connection away from the WSGI server and writes on it by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import flask
from werkzeug.http import http_date

from app import clock
from app.server.web.current import services
from app.server.web.policy import headers_for
from app.server.wsgi.detached import DETACHED


class DetachedResponse(flask.Response):
    """Flask makes its headers; then `begin` gets the request's environ, takes its connection, and writes the head.

    The body is chunked (RFC 9112, section 7.1), and `begin` writes the chunks: a reader gets each when it comes, and
    knows a whole body by its last chunk. Only requests over HTTP/1.1 are taken over.
    """

    def __init__(self, begin: Callable[[dict[str, Any], bytes], None], **response: Any) -> None:
        super().__init__(**response)
        self._begin = begin

    def __call__(self, environ: Any, start_response: Any) -> Iterable[bytes]:
        """Write nothing through the server: it only learns that the connection has gone."""
        self.headers.pop("Content-Length", None)
        self.headers["Transfer-Encoding"] = "chunked"
        self.headers["Connection"] = "close"
        self.headers["Date"] = http_date(clock.now_us() / 1e6)  # RFC 9110, section 6.6.1
        closing = headers_for(environ, services().settings.clock_port)
        lines = [
            f"HTTP/1.1 {self.status}",
            *(f"{name}: {value}" for name, value in (*self.headers, *closing)),
        ]
        head = ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
        self._begin(environ, head)
        return DETACHED
