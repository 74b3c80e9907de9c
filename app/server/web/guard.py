"""The first thing that every request meets, on both transports alike: Host, Origin, proxies and prefix.

Host: a request names one (RFC 9112, section 3.2). A page of another site, whose name an attacker points at this machine
(DNS rebinding), is refused, because only IP literals, dotless names, `*.local`, `*.localhost` and configured names are
served.
Origin: browsers send it with cross-site requests and every WebSocket; a foreign one is refused, an absent one is
accepted, since programs send none.
Proxies that the operator named: the client's address, scheme and host take the place of theirs.
Prefix: the path below which a proxy shows the service becomes WSGI's `SCRIPT_NAME`, whether the proxy took it away or not.
Transfer-Encoding: of its codings only chunked is taken off by servers; a body in another one would be taken for what it is
not (RFC 9112, section 6.1).
Bytes in a query that should have been escaped are.
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
from app.server.services import Requests
from app.server.web import locale
from app.server.wsgi import problem
from app.server.wsgi.peer import look_through

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
        prefix: str = "",
    ) -> None:
        self._app = app
        self._proxies = Proxies(trusted_proxies)
        self._allowed = frozenset(allowed_hosts)
        self._is_ours = functools.lru_cache(HOSTS_KEPT_MAX)(lambda host: is_our_host(host, self._allowed))
        self._requests = requests
        self._prefix = prefix

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Serve the request, or refuse it with a problem document."""
        self._requests.count()
        asked_for = _host_of(environ)
        seen = look_through(environ, self._proxies) if self._proxies else None
        query = environ.get("QUERY_STRING", "")
        if not query.isascii():
            environ["QUERY_STRING"] = _escaped(query)
        if asked_for is None and environ.get("SERVER_PROTOCOL") != "HTTP/1.1":
            pass  # HTTP/1.0 had none.
        elif asked_for is None or "," in asked_for:  # By which servers join fields of one name.
            return _refuse(start_response, environ, 400, refusal("one_host"))
        elif not (self._is_ours(asked_for) and self._is_ours(environ["HTTP_HOST"])):
            # The proxy's own name counts too, or a page that an attacker points at it would name another one here.
            return _refuse(start_response, environ, 421, refusal("foreign_host"))
        if environ.get("HTTP_TRANSFER_ENCODING", "chunked").strip().lower() != "chunked":
            return _refuse(start_response, environ, 501, refusal("transfer_coding"))
        origin = environ.get("HTTP_ORIGIN")
        if origin is not None and not self._is_our_page(origin, environ, seen):
            return _refuse(start_response, environ, 403, refusal("foreign_origin"))
        prefix = self._prefix or (seen.prefix if seen is not None else "")
        if prefix and not _enter(environ, prefix):
            return _to_the_slash(start_response, environ)
        return self._app(environ, start_response)

    def _is_our_page(self, origin: str, environ: dict[str, Any], seen: OriginalRequest | None) -> bool:
        """Tell whether a page of `origin` is this service's own."""
        if is_same_origin(origin, environ.get("HTTP_HOST", "")):
            return True
        # A proxy may have put its own name in the place of Host. The browser's word, which no page can write, is sent
        # over HTTPS and to loopback only: no name there leads to another machine (DNS rebinding).
        if environ.get("HTTP_SEC_FETCH_SITE") == "same-origin":
            return True
        hides_host = seen is not None and seen.is_by_proxy and not seen.host
        return hides_host and name_of_origin(origin) in self._allowed


def _host_of(environ: dict[str, Any]) -> str | None:
    """The host that the request itself names, which is `HTTP_HOST` from then on.

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


def _enter(environ: dict[str, Any], prefix: str) -> bool:
    """Move the prefix from the path to `SCRIPT_NAME`; whether the path is the service's, which begins with a slash."""
    path = environ["PATH_INFO"]
    environ["SCRIPT_NAME"] = prefix
    if path.startswith(f"{prefix}/"):
        environ["PATH_INFO"] = path.removeprefix(prefix)
    return bool(path != prefix)


def _to_the_slash(start_response: Callable[..., Any], environ: dict[str, Any]) -> Iterable[bytes]:
    """Send the client on to where the page's own references are below the prefix; not for good, as prefixes change."""
    query = environ.get("QUERY_STRING", "")
    location = f"{environ['SCRIPT_NAME']}/{'?' if query else ''}{query}"
    start_response("307 Temporary Redirect", [("Location", location), ("Content-Length", "0")])
    return [b""]


def _escaped(query: str) -> str:
    """A query in ASCII, as it must be (RFC 3986, section 2.1): for bare bytes that are no UTF-8 Flask would raise.

    It keeps them where they are escaped. gunicorn refuses such a request by itself; under `flask run` it comes here.
    """
    return _NOT_ASCII.sub(lambda found: f"%{ord(found[0]):02X}", query)


def _refuse(
    start_response: Callable[..., Any], environ: dict[str, Any], status: int, detail: Sentence
) -> Iterable[bytes]:
    return problem.refuse(start_response, status, detail, locale.language_of(environ))
