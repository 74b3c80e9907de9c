"""The first thing that every request meets, on both transports alike: Host and Origin.

Host: a page of another site, whose name an attacker points at this machine (DNS rebinding), is refused, because
only IP literals, dotless names, `*.local` and configured names are served.
Origin: browsers send it with cross-site requests and every WebSocket; a foreign one is refused, an absent one is
accepted, since programs send none.
Before all that: behind proxies that the operator named, the client's address and scheme take the place of the proxy's;
and bytes in a query that should have been escaped are.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import urlsplit

from app.catalogues import REFUSAL, in_language, refusal
from app.core.forwarded import Proxies
from app.core.our_host import is_our_host
from app.core.sentence import Sentence
from app.services import Requests
from app.serving.peer import look_through
from app.web import texts

WsgiApp = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]

HOSTS_KEPT_MAX = 64
"""A server has a handful of names; what strangers make up is at most as long as a head may be."""

_NOT_ASCII = re.compile(r"[^\x00-\x7f]")


class Guard:
    """WSGI middleware around the application and Socket.IO."""

    def __init__(
        self,
        app: WsgiApp,
        *,
        allowed_hosts: tuple[str, ...],
        requests: Requests,
        trusted_proxies: tuple[str, ...] = (),
    ) -> None:
        self._app = app
        self._proxies = Proxies(trusted_proxies)
        allowed = frozenset(allowed_hosts)
        self._is_ours = functools.lru_cache(HOSTS_KEPT_MAX)(lambda host: is_our_host(host, allowed))
        self._requests = requests

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Serve the request, or refuse it with a problem document."""
        self._requests.count()
        if self._proxies:
            look_through(environ, self._proxies)
        query = environ.get("QUERY_STRING", "")
        if not query.isascii():
            environ["QUERY_STRING"] = _escaped(query)
        host = environ.get("HTTP_HOST")
        if host is not None and not self._is_ours(host):
            return _refuse(
                start_response,
                421,
                refusal("foreign_host"),
                environ,
            )
        origin = environ.get("HTTP_ORIGIN")
        if origin is not None and not _same_origin(origin, host):
            return _refuse(start_response, 403, refusal("foreign_origin"), environ)
        return self._app(environ, start_response)


def _escaped(query: str) -> str:
    """A query in ASCII, as it must be (RFC 3986, section 2.1): for bare bytes that are no UTF-8 Flask would raise.

    It keeps them where they are escaped. gunicorn refuses such a request by itself; under `flask run` it comes here.
    """
    return _NOT_ASCII.sub(lambda found: f"%{ord(found[0]):02X}", query)


def _same_origin(origin: str, host: str | None) -> bool:
    """Whether a page of `origin` was served under `host`. The scheme is left out: a proxy may end TLS."""
    try:
        return host is not None and urlsplit(origin).netloc.lower() == host.lower()
    except ValueError:
        return False


def _refuse(
    start_response: Callable[..., Any], status: int, detail: Sentence, environ: dict[str, Any]
) -> Iterable[bytes]:
    title = {403: "Forbidden", 421: "Misdirected Request"}[status]
    language = texts.language_of(environ)
    problem = {
        "type": "about:blank",
        "title": title,
        "status": status,
        "detail": in_language(language, detail),
        "code": detail.code.removeprefix(REFUSAL),
        "parameters": {},
    }
    body = json.dumps(problem).encode()
    headers = [
        ("Content-Type", "application/problem+json"),
        ("Content-Language", language),
        ("Content-Length", str(len(body))),
        ("Connection", "close"),
    ]
    start_response(f"{status} {title}", headers)
    return [body]
