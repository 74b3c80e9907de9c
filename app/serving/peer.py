"""The TCP socket behind a WSGI request: three servers, three names for it."""

from __future__ import annotations

import _socket  # The kernel's socket itself: green-thread libraries replace what `socket` offers.
import contextlib
import os
import socket
import sys
from typing import Any


def peer_socket(environ: dict[str, Any]) -> socket.socket | None:
    """The connection's socket, or `None` under a server that hides it."""
    for name in ("gunicorn.socket", "werkzeug.socket"):
        if name in environ:
            return environ[name]  # type: ignore[no-any-return]
    stream = environ.get("eventlet.input")
    return stream.get_socket() if stream is not None else None


def address_of(environ: dict[str, Any]) -> str:
    """The peer's address, empty where there is none (a Unix socket)."""
    return sys.intern(environ.get("REMOTE_ADDR") or "")  # Thousands of connections may share it.


def no_delay(environ: dict[str, Any]) -> None:
    """Turn Nagle's algorithm off, on every transport alike: `eventlet.wsgi` does not, gunicorn does."""
    sock = peer_socket(environ)
    if sock is not None:
        with contextlib.suppress(OSError):  # a Unix socket, or a client that has left
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def cut(sock: socket.socket | None) -> None:
    """End a connection whose peer does not read: a polite close would wait for it for ever."""
    if sock is not None:
        # At the kernel: gevent's own raises in whoever reads, and TLS forgets what it reads with. So they see the end.
        with contextlib.suppress(OSError, ValueError):  # It has been closed.
            fd = os.dup(sock.fileno())
            with contextlib.closing(_socket.socket(fileno=fd)) as raw:
                raw.shutdown(socket.SHUT_RDWR)
