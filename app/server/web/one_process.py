"""The refusal of servers that would lose notifications or block: several processes with a broker each, one request at a time.

Under gunicorn the start itself is looked at (app/server/wsgi/gunicorn_master.py). Other servers (uWSGI, mod_wsgi,
`flask run --without-threads`) say what they do with each request, in the terms of PEP 3333.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any

from app.core.sentence import Sentence
from app.i18n import refusal
from app.server.web import locale
from app.server.wsgi import problem

WsgiApp = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]

SERVERS = ("gunicorn.socket", "werkzeug.socket", "uwsgi.version", "mod_wsgi.version")
"""Keys of servers that count their threads and processes. Others say the same whatever they do (hypercorn, asgiref)."""

logger = logging.getLogger("siar.start")


class OneProcess:
    """WSGI middleware around everything else; the first request decides."""

    def __init__(self, app: WsgiApp, *, workers: int, refused: Sentence | None) -> None:
        self._app = app
        self._workers = workers
        self._refused = refused
        self._is_decided = refused is not None
        if refused is not None:
            logger.error("%s", refused)

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Serve the request, or refuse it with a problem document."""
        if not self._is_decided:
            self._decide(environ)
        if self._refused is None:
            return self._app(environ, start_response)
        return problem.refuse(start_response, 503, self._refused, locale.language_of(environ))

    def _decide(self, environ: dict[str, Any]) -> None:
        self._is_decided = True
        if not any(name in environ for name in SERVERS):
            return
        if environ.get("wsgi.multiprocess") and self._workers == 1:
            self._refused = refusal("processes_unshared")
        elif not environ.get("wsgi.multithread"):
            self._refused = refusal("one_at_a_time")
        if self._refused is not None:
            logger.error("%s", self._refused)
