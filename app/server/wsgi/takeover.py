"""Taking a connection over from the WSGI server once its handshake is done.

Our workers offer the sockets that they accepted; anything else (TLS, HTTP/2, other servers) stays where it is and takes
the stock path.
"""

from __future__ import annotations

import _socket  # The kernel's socket itself: green-thread libraries replace what `socket` offers.
import contextlib
import os
import socket
from dataclasses import dataclass
from typing import Any

from app.server.wsgi.peer import is_this_machine

RawSocket = _socket.socket

_offered: dict[int, Any] = {}
"""By descriptor, for as long as its request is served: what reads from it, and may have read more than a request."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A connection that is ours."""

    sock: RawSocket
    """Non-blocking."""
    rest: bytes
    """What the server had read behind the request."""


@dataclass(frozen=True, slots=True)
class SocketOptions:
    """What every connection gets, on both transports alike."""

    send_buffer_bytes: int
    """SO_SNDBUF. Unset, the kernel swallows 4 MB before a slow client shows."""
    peer_timeout_ms: int
    """TCP_USER_TIMEOUT: how long written bytes may stay unacknowledged."""


def offer(sock: Any, unreader: Any) -> int:
    """Until it is withdrawn a connection may be taken over, with what `unreader` has read of it; what to withdraw it by.

    No context manager: it is around every request, and its own machinery would cost as much as a write.
    """
    fd: int = sock.fileno()
    _offered[fd] = unreader
    return fd


def withdraw(fd: int) -> None:
    """Its request is over."""
    _offered.pop(fd, None)


def can_take_over(environ: dict[str, Any]) -> bool:
    """Whether the request came over HTTP/1.1 on a plain socket that our worker accepted."""
    served = environ.get("gunicorn.socket")
    return (
        served is not None
        and served.fileno() in _offered
        and environ.get("SERVER_PROTOCOL") == "HTTP/1.1"
        and not _asks_for_stock(environ)
    )


def is_too_old(environ: dict[str, Any]) -> bool:
    """Whether a WebSocket is asked for over HTTP/1.0 (RFC 6455, section 4.1: "at least 1.1"), or a 1.2 that nobody speaks.

    Such a request would never be taken over, so that any stranger could choose the stock path. `eventlet.wsgi` says of
    every request that it came over HTTP/1.0: there it is believed of none. (The library's middleware gives gunicorn's
    requests an `eventlet.input` too.)
    """
    knows = "gunicorn.socket" in environ or "eventlet.input" not in environ
    return knows and environ.get("SERVER_PROTOCOL") != "HTTP/1.1"


def _asks_for_stock(environ: dict[str, Any]) -> bool:
    """An experiment's client on this machine may ask for the stock path, to compare the two on one server.

    Nobody else may: it costs ten times the memory.
    """
    return "fanout=stock" in environ.get("QUERY_STRING", "").split("&") and is_this_machine(environ)


def take_over(environ: dict[str, Any], options: SocketOptions) -> Taken:
    """The request's connection. The server closes its own descriptor of it when the request ends."""
    served = environ["gunicorn.socket"]
    rest = _offered[served.fileno()].take_buffered()
    sock = RawSocket(served.family, served.type, served.proto, os.dup(served.fileno()))
    sock.setblocking(False)  # noqa: FBT003 - the standard library's signature
    set_options(sock, options)
    return Taken(sock, rest)


def set_options(sock: Any, options: SocketOptions) -> None:
    """Options that bound what the kernel holds for a peer, and for how long; no Nagle. `None` has none."""
    if sock is None:
        return
    with contextlib.suppress(OSError):  # A Unix socket has none of them, a peer that left takes none.
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, options.send_buffer_bytes)
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, options.peer_timeout_ms)
