"""Headers that close what a page does not need, on every answer of the application: any of them may be opened as one.

Added where the WSGI server takes an answer, and made once per host: set one by one on a response object they were an
eighth of what a publish costs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from app.core.host_check import is_localhost

WsgiApp = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]

POLICY = "Content-Security-Policy"

HOSTS_KEPT_MAX = 64

Headers = tuple[tuple[str, str], ...]

ISOLATION: Headers = (
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Embedder-Policy", "require-corp"),
)
"""Together they keep the page apart from all other origins, for which browsers give it a clock of 5 us instead of 100.

Only in a secure context, which pages from loopback have without HTTPS; elsewhere a browser would only warn of them.
"""

LOOPBACK = frozenset({"127.0.0.1", "[::1]"})


class Policy:
    """WSGI middleware below Socket.IO's, so that polling answers stay as short as the protocol makes them."""

    def __init__(self, app: WsgiApp, *, clock_port: int | None) -> None:
        self._app = app
        self._clock_port = clock_port

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Serve the request; an answer that has a policy of its own keeps it."""
        ours = headers_for(environ, self._clock_port)

        def start(status: str, headers: list[tuple[str, str]], *error: Any) -> Any:
            return start_response(status, [*headers, *self._missing(headers, ours)], *error)

        return self._app(environ, start)

    @staticmethod
    def _missing(headers: list[tuple[str, str]], ours: Headers) -> Iterable[tuple[str, str]]:
        has_own = any(name == POLICY for name, _ in headers)
        return [header for header in ours if header[0] != POLICY] if has_own else ours


def headers_for(environ: dict[str, Any], clock_port: int | None) -> Headers:
    """The headers for the answer to a request."""
    return closing_headers(
        environ.get("HTTP_HOST", ""), clock_port, secure=environ.get("wsgi.url_scheme") == "https"
    )


@functools.lru_cache(HOSTS_KEPT_MAX)
def closing_headers(host: str, clock_port: int | None, *, secure: bool) -> Headers:
    """The headers for pages under `host`, whose scripts reach this server and its clock channel and nothing else.

    `secure`: whether the page came over HTTPS, from where only encrypted WebSockets may be opened.
    """
    name = (host if host.endswith("]") else host.rsplit(":", 1)[0]).lower()
    connect = "'self'"
    if clock_port:
        connect += f" {'wss' if secure else 'ws'}://{name}:{clock_port}"
    policy = (
        f"default-src 'self'; connect-src {connect}; img-src 'self' data:; object-src 'none'; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )
    return (
        ("X-Content-Type-Options", "nosniff"),
        ("X-Frame-Options", "DENY"),
        ("Referrer-Policy", "no-referrer"),
        (POLICY, policy),
        *(ISOLATION if secure or name in LOOPBACK or is_localhost(name) else ()),
    )
