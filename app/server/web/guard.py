"""WSGI middleware that checks and normalises every request first: Host, Origin, proxies, prefix, encodings.

- Host: a request names one (RFC 9112, section 3.2). Only IP literals, dotless names, `*.local`, `*.localhost` and
  configured names are served, which defeats DNS rebinding: a foreign page under a name that points to this machine.
- Origin: browsers send it with cross-site requests and for every WebSocket. A foreign one is refused; an absent one is
  accepted, because programs send none.
- Trusted proxies: the client's address, scheme and host, as forwarded, replace the proxy's own.
- Prefix: the path under which a proxy exposes the service becomes WSGI's `SCRIPT_NAME`, whether or not the proxy removed it.
- Transfer-Encoding: anything but chunked is refused, because servers decode only that (RFC 9112, section 6.1).
- Query: bytes that should have been escaped are escaped, and its fields are counted.
- Lists of preferences and cookies: cut before a library parses them (`bounded.py`).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import urlsplit

from app.core.forwarded import OriginalRequest, Proxies
from app.core.host_check import is_our_host, is_same_origin, name_of_origin
from app.core.sentence import Sentence
from app.i18n import refusal
from app.server.services import RequestCounter
from app.server.web import bounded, locale
from app.server.wsgi import problem
from app.server.wsgi.peer import look_through

WsgiApp = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]

HOSTS_KEPT_MAX = 64
"""Cached decisions. A server has a few names; invented ones are as long as a request head at most."""

OTHER_FIELDS_MAX = 32
"""Fields of a query beside its topics, which a client may name one by one."""

_NOT_ASCII = re.compile(r"[^\x00-\x7f]")


class Guard:
    """WSGI middleware around the application and Socket.IO."""

    def __init__(
        self,
        app: WsgiApp,
        *,
        allowed_hosts: tuple[str, ...],
        requests: RequestCounter,
        trusted_proxies: tuple[str, ...] = (),
        prefix: str = "",
        topics_max: int = 32,
    ) -> None:
        self._app = app
        self._proxies = Proxies(trusted_proxies)
        self._allowed = frozenset(allowed_hosts)
        self._is_ours = functools.lru_cache(HOSTS_KEPT_MAX)(lambda host: is_our_host(host, self._allowed))
        self._requests = requests
        self._prefix = prefix
        self._query_fields_max = topics_max + OTHER_FIELDS_MAX

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Serve the request, or refuse it with a problem document."""
        self._requests.count()
        bounded.shorten(environ)
        asked_for = _host_of(environ)
        seen = look_through(environ, self._proxies) if self._proxies else None
        query = environ.get("QUERY_STRING", "")
        if not query.isascii():
            environ["QUERY_STRING"] = _escaped(query)
        if bounded.fields_of(query) > self._query_fields_max:
            return _refuse(
                start_response, environ, 400, refusal("query_fields", count=self._query_fields_max)
            )
        if asked_for is None and environ.get("SERVER_PROTOCOL") != "HTTP/1.1":
            pass  # HTTP/1.0 requires none.
        elif asked_for is None or "," in asked_for:  # A comma: the server joined several Host fields.
            return _refuse(start_response, environ, 400, refusal("one_host"))
        elif not (self._is_ours(asked_for) and self._is_ours(environ["HTTP_HOST"])):
            # The proxy's own Host counts too: a page that reaches the proxy by DNS rebinding could forward any name.
            return _refuse(start_response, environ, 421, refusal("foreign_host"))
        if environ.get("HTTP_TRANSFER_ENCODING", "chunked").strip().lower() != "chunked":
            return _refuse(start_response, environ, 501, refusal("transfer_coding"))
        origin = environ.get("HTTP_ORIGIN")
        if origin is not None and not self._is_our_page(origin, environ, seen):
            return _refuse(start_response, environ, 403, refusal("foreign_origin"))
        prefix = self._prefix or (seen.prefix if seen is not None else "")
        if prefix and not _strip_prefix(environ, prefix):
            return _redirect_to_slash(start_response, environ)
        return self._app(environ, start_response)

    def _is_our_page(self, origin: str, environ: dict[str, Any], seen: OriginalRequest | None) -> bool:
        """Return whether a page of `origin` is this service's own."""
        if is_same_origin(origin, environ.get("HTTP_HOST", "")):
            return True
        # A proxy may have replaced Host by its own name. Sec-Fetch-Site cannot be set by a page, and browsers send it only
        # over HTTPS and to loopback, where names cannot lead to another machine (DNS rebinding).
        if environ.get("HTTP_SEC_FETCH_SITE") == "same-origin":
            return True
        hides_host = seen is not None and seen.is_by_proxy and not seen.host
        return hides_host and name_of_origin(origin) in self._allowed


def _host_of(environ: dict[str, Any]) -> str | None:
    """Return the host that the request itself names, and set `HTTP_HOST` to it.

    "When an origin server receives a request with an absolute-form of request-target, the origin server MUST ignore the
    received Host header field (if any) and instead use the host information of the request-target" (RFC 9112, 3.2.2).
    """
    host: str | None = environ.get("HTTP_HOST")
    target = environ.get("RAW_URI", "/")
    if host is not None and not target.startswith(("/", "*")):
        try:
            environ["HTTP_HOST"] = host = urlsplit(target).netloc
        except ValueError:
            return ""
    return host


def _strip_prefix(environ: dict[str, Any], prefix: str) -> bool:
    """Move the prefix from the path to `SCRIPT_NAME`; return False if the path is the bare prefix, without a slash."""
    path = environ["PATH_INFO"]
    environ["SCRIPT_NAME"] = prefix
    if path.startswith(f"{prefix}/"):
        environ["PATH_INFO"] = path.removeprefix(prefix)
    return bool(path != prefix)


def _redirect_to_slash(start_response: Callable[..., Any], environ: dict[str, Any]) -> Iterable[bytes]:
    """Redirect to the prefix with a slash, below which the page's relative URLs work; temporarily, as prefixes change."""
    query = environ.get("QUERY_STRING", "")
    location = f"{environ['SCRIPT_NAME']}/{'?' if query else ''}{query}"
    start_response("307 Temporary Redirect", [("Location", location), ("Content-Length", "0")])
    return [b""]


def _escaped(query: str) -> str:
    """Return a query in ASCII, as required (RFC 3986, section 2.1); Flask would raise for raw bytes that are not UTF-8.

    Escaped bytes it accepts. gunicorn refuses such requests itself, but `flask run` does not.
    """
    return _NOT_ASCII.sub(lambda found: f"%{ord(found[0]):02X}", query)


def _refuse(
    start_response: Callable[..., Any], environ: dict[str, Any], status: int, detail: Sentence
) -> Iterable[bytes]:
    return problem.refuse(start_response, status, detail, locale.language_of(environ))
