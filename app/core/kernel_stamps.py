"""Kernel receive stamps of a socket's reads (socket(7), SO_TIMESTAMPNS).

A stamp gives the arrival even if the process reads late. On loopback data arrives within the sender's `send` call.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import sys
from collections.abc import Iterable

SO_TIMESTAMPNS = 35
"""Value from `asm-generic/socket.h`; Python defines it from version 3.14 on. The control message has the same number."""

_TIMESPEC = struct.Struct("@qq")

ROOM_BYTES = 32
"""Size of the control message: CMSG_SPACE of a `struct timespec` on a 64-bit system."""


def enable(sock: socket.socket) -> bool:
    """Enable receive stamps for `sock`; return False if this system does not support them."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
            return True
    return False


def stamp_ns(ancillary: Iterable[tuple[int, int, bytes]]) -> int | None:
    """Extract the receive stamp of the last byte from `recvmsg`'s ancillary data, CLOCK_REALTIME; `None` without one."""
    for level, kind, value in ancillary:
        if level == socket.SOL_SOCKET and kind == SO_TIMESTAMPNS and len(value) >= _TIMESPEC.size:
            seconds, nanoseconds = _TIMESPEC.unpack_from(value)
            return int(seconds) * 1_000_000_000 + int(nanoseconds)
    return None
