"""The client of a WSGI request: its socket under three servers, its address, and its end."""

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
"""Set in `environ` if the operator named proxies: an address of this machine may then be a remote client's."""


def peer_socket(environ: dict[str, Any]) -> socket.socket | None:
    """Return the connection's socket, or `None` under a server that hides it."""
    for name in ("gunicorn.socket", "werkzeug.socket"):
        if name in environ:
            return environ[name]  # type: ignore[no-any-return]
    stream = environ.get("eventlet.input")
    return stream.get_socket() if stream is not None else None


def look_through(environ: dict[str, Any], proxies: Proxies) -> OriginalRequest:
    """Replace a trusted proxy's client, scheme and host by the forwarded ones; done here only."""
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
"""Headers that proxies add: RFC 7239, RFC 9110 (section 7.6.3), and those of nginx, Apache and Caddy."""


def is_this_machine(environ: dict[str, Any]) -> bool:
    """Return True if a program on this machine is the client, by loopback or by the requested address itself.

    Always False if proxies were named: they may run on this machine, while their clients do not.
    """
    if _BEHIND_PROXIES in environ:
        return False
    # An unnamed proxy on this machine would make every client appear local. A client that sends such a header itself
    # only loses a privilege; a proxy that sends none must be named (SIAR_TRUSTED_PROXIES).
    if any(header in environ for header in _PASSED_ON):
        return False
    address = parse_address(environ.get("REMOTE_ADDR") or "")
    return address is not None and (address.is_loopback or address == _own_address(environ))


def _own_address(environ: dict[str, Any]) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return the server's address of the connection."""
    sock = peer_socket(environ)
    try:
        name = sock.getsockname() if sock is not None else ""
    except OSError:
        return None
    return parse_address(name[0]) if isinstance(name, tuple) else None


def address_of(environ: dict[str, Any]) -> str:
    """Return the client's address, empty if there is none (a Unix socket)."""
    return shared(environ.get("REMOTE_ADDR") or "")  # Thousands of connections may have it.


def cut(sock: socket.socket | None) -> None:
    """End a connection whose peer may not be reading, which an orderly close would wait for."""
    if sock is not None:
        # At the kernel, so that the reader sees EOF: gevent's `shutdown` raises there, and TLS would lose its state.
        with contextlib.suppress(OSError, ValueError):  # It is closed already.
            fd = os.dup(sock.fileno())
            with contextlib.closing(_socket.socket(fileno=fd)) as raw:
                raw.shutdown(socket.SHUT_RDWR)
