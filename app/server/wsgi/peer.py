"""The TCP socket behind a WSGI request: three servers, three names for it."""

from __future__ import annotations

import _socket  # The kernel's socket itself: green-thread libraries replace what `socket` offers.
import contextlib
import ipaddress
import os
import socket
from typing import Any

from app.core.forwarded import OriginalRequest, Proxies, parse_address
from app.server.wsgi.shared_text import shared

_BEHIND_PROXIES = "siar.behind_proxies"
"""In `environ` when the operator named proxies: an address of this machine may then be anybody's."""


def peer_socket(environ: dict[str, Any]) -> socket.socket | None:
    """The connection's socket, or `None` under a server that hides it."""
    for name in ("gunicorn.socket", "werkzeug.socket"):
        if name in environ:
            return environ[name]  # type: ignore[no-any-return]
    stream = environ.get("eventlet.input")
    return stream.get_socket() if stream is not None else None


def look_through(environ: dict[str, Any], proxies: Proxies) -> OriginalRequest:
    """Put client, scheme and host in the place of a trusted proxy's: the one place that decides on them."""
    seen = proxies.original_request(environ.get("REMOTE_ADDR") or "", environ)
    environ[_BEHIND_PROXIES] = True
    environ["REMOTE_ADDR"] = seen.client
    if seen.scheme:
        environ["wsgi.url_scheme"] = seen.scheme
    if seen.host:
        environ["HTTP_HOST"] = seen.host
    return seen


_PASSED_ON = (
    *("HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED_HOST", "HTTP_X_FORWARDED_PORT", "HTTP_X_FORWARDED_PREFIX"),
    *("HTTP_X_FORWARDED_PROTO", "HTTP_X_FORWARDED_SERVER", "HTTP_X_REAL_IP", "HTTP_FORWARDED", "HTTP_VIA"),
)
"""What proxies say of themselves: RFC 7239, RFC 9110 (section 7.6.3), and what nginx, Apache and Caddy write."""


def is_this_machine(environ: dict[str, Any]) -> bool:
    """Whether a program of this machine asks: by loopback, or by the very address that it asks for.

    Never when proxies were named: they may be on this machine, and whom they pass on is not.
    """
    if _BEHIND_PROXIES in environ:
        return False
    # A proxy on this machine that nobody named would make all the world "this machine". Who writes such a header
    # without being a proxy only gives up a privilege; one that hides itself must be named (SIAR_TRUSTED_PROXIES).
    if any(header in environ for header in _PASSED_ON):
        return False
    address = parse_address(environ.get("REMOTE_ADDR") or "")
    return address is not None and (address.is_loopback or address == _own_address(environ))


def _own_address(environ: dict[str, Any]) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """This machine's end of the connection."""
    sock = peer_socket(environ)
    try:
        name = sock.getsockname() if sock is not None else ""
    except OSError:
        return None
    return parse_address(name[0]) if isinstance(name, tuple) else None


def address_of(environ: dict[str, Any]) -> str:
    """The client's address, empty where there is none (a Unix socket)."""
    return shared(environ.get("REMOTE_ADDR") or "")  # Thousands of connections may have it.


def cut(sock: socket.socket | None) -> None:
    """End a connection whose peer does not read: a polite close would wait for it for ever."""
    if sock is not None:
        # At the kernel: gevent's own raises in whoever reads, and TLS forgets what it reads with. So they see the end.
        with contextlib.suppress(OSError, ValueError):  # It has been closed.
            fd = os.dup(sock.fileno())
            with contextlib.closing(_socket.socket(fileno=fd)) as raw:
                raw.shutdown(socket.SHUT_RDWR)
