"""A response that detaches its connection from the WSGI server and writes to it directly."""

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
    """A response whose headers Flask builds, and whose connection `begin` detaches, given the environ and the head.

    The body is chunked (RFC 9112, section 7.1), and `begin` writes the chunks: a reader gets each as it comes and recognises
    a complete body by its last chunk. Only HTTP/1.1 requests are detached.
    """

    def __init__(self, begin: Callable[[dict[str, Any], bytes], None], **response: Any) -> None:
        super().__init__(**response)
        self._begin = begin

    def __call__(self, environ: Any, start_response: Any) -> Iterable[bytes]:
        """Call `begin` and write nothing through the WSGI server, which only learns that the connection is gone."""
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
