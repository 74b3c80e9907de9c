"""Detaches a connection from the WSGI server after its handshake.

Our workers offer the sockets that they accepted. All other connections (TLS, HTTP/2, other servers) stay with the
server and take the stock path.
"""

from __future__ import annotations

import _socket  # The kernel's socket: green-thread libraries replace the class in `socket`.
import contextlib
import os
import socket
from dataclasses import dataclass
from typing import Any

from app.server.wsgi.peer import is_this_machine

RawSocket = _socket.socket

_offered: dict[int, Any] = {}
"""Readers by descriptor while a request is served; they may have read beyond the request."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A detached connection."""

    sock: RawSocket
    """Non-blocking."""
    rest: bytes
    """Bytes after the request that the server had already read."""


@dataclass(frozen=True, slots=True)
class SocketOptions:
    """Socket options of every connection, for all transports."""

    send_buffer_bytes: int
    """SO_SNDBUF. By default the kernel buffers 4 MB before a slow client is noticed."""
    peer_timeout_ms: int
    """TCP_USER_TIMEOUT: how long written bytes may stay unacknowledged."""


def offer(sock: Any, unreader: Any) -> int:
    """Allow a connection to be detached, with what `unreader` has read of it; return the argument for `withdraw`.

    This is not a context manager: it surrounds every request, and the overhead would be that of a write.
    """
    fd: int = sock.fileno()
    _offered[fd] = unreader
    return fd


def withdraw(fd: int) -> None:
    """Forget a connection whose request has been served."""
    _offered.pop(fd, None)


def can_take_over(environ: dict[str, Any]) -> bool:
    """Return True if the request came over HTTP/1.1 on a plain socket that our worker accepted."""
    served = environ.get("gunicorn.socket")
    return (
        served is not None
        and served.fileno() in _offered
        and environ.get("SERVER_PROTOCOL") == "HTTP/1.1"
        and not _asks_for_stock(environ)
    )


def is_too_old(environ: dict[str, Any]) -> bool:
    """Return True for a WebSocket handshake over HTTP/1.0 (RFC 6455, section 4.1: "at least 1.1") or an unknown 1.2.

    Such a connection would never be detached, so any client could choose the stock path. `eventlet.wsgi` reports
    HTTP/1.0 for every request, so there the version is ignored. (The library's middleware adds `eventlet.input` to
    gunicorn's requests too.)
    """
    knows = "gunicorn.socket" in environ or "eventlet.input" not in environ
    return knows and environ.get("SERVER_PROTOCOL") != "HTTP/1.1"


def _asks_for_stock(environ: dict[str, Any]) -> bool:
    """Return True if an experiment's client on this machine asks for the stock path, to compare both on one server.

    Remote clients may not: the stock path costs ten times the memory.
    """
    return "fanout=stock" in environ.get("QUERY_STRING", "").split("&") and is_this_machine(environ)


def take_over(environ: dict[str, Any], options: SocketOptions) -> Taken:
    """Detach the request's connection. The server closes its own descriptor of it when the request ends."""
    served = environ["gunicorn.socket"]
    rest = _offered[served.fileno()].take_buffered()
    sock = RawSocket(served.family, served.type, served.proto, os.dup(served.fileno()))
    sock.setblocking(False)  # noqa: FBT003 - the standard library's signature
    set_options(sock, options)
    return Taken(sock, rest)


def set_options(sock: Any, options: SocketOptions) -> None:
    """Set the options, which bound what the kernel buffers for a peer and for how long; no-op for `None`."""
    if sock is None:
        return
    with contextlib.suppress(OSError):  # A Unix socket has none of them, and a closed peer accepts none.
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, options.send_buffer_bytes)
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, options.peer_timeout_ms)
