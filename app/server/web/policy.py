"""Security headers on every response of the application, because any response may be opened as a page.

They are added at WSGI level and cached per host: setting them one by one on response objects took an eighth of the CPU
time of a publish.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from app.core.host_check import is_localhost
from app.server.web.loading import LOADING_HASH

WsgiApp = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]

POLICY = "Content-Security-Policy"

HOSTS_KEPT_MAX = 64

Headers = tuple[tuple[str, str], ...]

ISOLATION: Headers = (
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Embedder-Policy", "require-corp"),
)
"""Cross-origin isolation, for which browsers give the page a clock resolution of 5 us instead of 100.

Sent in secure contexts only (HTTPS, or loopback); elsewhere browsers ignore these headers with a warning.
"""

LOOPBACK = frozenset({"127.0.0.1", "[::1]"})


class Policy:
    """WSGI middleware below Socket.IO's, so that polling responses stay as short as the protocol makes them."""

    def __init__(self, app: WsgiApp, *, clock_port: int | None) -> None:
        self._app = app
        self._clock_port = clock_port

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Serve the request; a response with its own policy keeps it."""
        ours = headers_for(environ, self._clock_port)

        def start(status: str, headers: list[tuple[str, str]], *error: Any) -> Any:
            return start_response(status, [*headers, *self._missing(headers, ours)], *error)

        return self._app(environ, start)

    @staticmethod
    def _missing(headers: list[tuple[str, str]], ours: Headers) -> Iterable[tuple[str, str]]:
        has_own = any(name == POLICY for name, _ in headers)
        return [header for header in ours if header[0] != POLICY] if has_own else ours


def headers_for(environ: dict[str, Any], clock_port: int | None) -> Headers:
    """Return the security headers for the response to a request."""
    return closing_headers(
        environ.get("HTTP_HOST", ""), clock_port, secure=environ.get("wsgi.url_scheme") == "https"
    )


@functools.lru_cache(HOSTS_KEPT_MAX)
def closing_headers(host: str, clock_port: int | None, *, secure: bool) -> Headers:
    """Return the headers for pages under `host`, whose scripts may contact only this server and its clock channel.

    `secure` says whether the page came over HTTPS, which permits encrypted WebSockets only.
    """
    name = (host if host.endswith("]") else host.rsplit(":", 1)[0]).lower()
    connect = "'self'"
    if clock_port:
        connect += f" {'wss' if secure else 'ws'}://{name}:{clock_port}"
    policy = (
        f"default-src 'self'; script-src 'self' '{LOADING_HASH}'; connect-src {connect}; "
        "img-src 'self' data:; object-src 'none'; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )
    return (
        ("X-Content-Type-Options", "nosniff"),
        ("X-Frame-Options", "DENY"),
        ("Referrer-Policy", "no-referrer"),
        (POLICY, policy),
        *(ISOLATION if secure or name in LOOPBACK or is_localhost(name) else ()),
    )
