"""Sockets with the kernel's receive stamps, and the offset from those stamps to the monotonic clock.

`docs/load.md` separates three delays: *kernel*, until the notification arrived at this machine; *handler*, until this
process had read it; *self*, handler minus kernel, which the generator itself added.
"""

from __future__ import annotations

import socket as socket_names
import time
from typing import Any

from gevent import socket

from app.core import kernel_stamps
from loadtests.encrypted import EncryptedSocket

READ_BYTES = 65_536


def dial(host: str, port: int, *, is_encrypted: bool = False) -> Any:
    """Connect a gevent socket with receive stamps, or an `EncryptedSocket` on one. Raises `OSError`."""
    sock = socket.socket(_family(host), socket_names.SOCK_STREAM)
    try:
        sock.setsockopt(socket_names.IPPROTO_TCP, socket_names.TCP_NODELAY, 1)
        kernel_stamps.enable(sock)
        sock.connect((host, port))
        return EncryptedSocket(sock, host) if is_encrypted else sock
    except BaseException:
        sock.close()
        raise


def kernel_offset_ns() -> int:
    """Return CLOCK_MONOTONIC - CLOCK_REALTIME from the narrowest of five readings; a context switch widens a reading."""
    best_width_ns, best_ns = None, 0
    for _ in range(5):
        before_ns = time.monotonic_ns()
        wall_ns = time.time_ns()
        after_ns = time.monotonic_ns()
        if best_width_ns is None or after_ns - before_ns < best_width_ns:
            best_width_ns = after_ns - before_ns
            best_ns = (before_ns + after_ns) // 2 - wall_ns
    return best_ns


def keep_stamping() -> Any:
    """Open a socket with stamps, to be kept for the run: the kernel stamps packets only while such a socket exists."""
    sock = socket_names.socket(socket_names.AF_INET, socket_names.SOCK_DGRAM)
    kernel_stamps.enable(sock)
    return sock


def _family(host: str) -> int:
    return socket_names.AF_INET6 if ":" in host else socket_names.AF_INET
