"""Refuse to serve under servers that would lose notifications or block: unshared processes, or one request at a time.

Under gunicorn the start is checked instead (app/server/wsgi/gunicorn_master.py). Other servers (uWSGI, mod_wsgi,
`flask run --without-threads`) declare their concurrency with each request, as PEP 3333 specifies.
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
"""Environ keys of servers that declare their real concurrency. Others report constants (hypercorn, asgiref)."""

logger = logging.getLogger("siar.start")


class OneProcess:
    """WSGI middleware around everything else; it decides at the first request."""

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
