"""When the kernel received what is read: it says so with each read of a socket that asks for it (socket(7), SO_TIMESTAMPNS).

A reader that comes late reads late, but what it reads had arrived when the kernel says. Over loopback that is inside the
sender's `send`.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import sys
from collections.abc import Iterable

SO_TIMESTAMPNS = 35
"""`asm-generic/socket.h`; Python names it from version 3.14 on. The control message has the same number."""

_TIMESPEC = struct.Struct("@qq")

ROOM_BYTES = 32
"""Of the control message: CMSG_SPACE of a `struct timespec`, where a pointer has eight bytes."""


def ask_for(sock: socket.socket) -> bool:
    """Have `sock`'s reads tell; whether this system can."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
            return True
    return False


def told_ns(ancillary: Iterable[tuple[int, int, bytes]]) -> int | None:
    """What `recvmsg` gave beside the bytes: when the last of them was received, CLOCK_REALTIME; `None` if it was not told."""
    for level, kind, value in ancillary:
        if level == socket.SOL_SOCKET and kind == SO_TIMESTAMPNS and len(value) >= _TIMESPEC.size:
            seconds, nanoseconds = _TIMESPEC.unpack_from(value)
            return int(seconds) * 1_000_000_000 + int(nanoseconds)
    return None
