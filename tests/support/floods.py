"""Floods of frames that contain no message, sent as fast as possible."""

from __future__ import annotations

import select
import socket

from app.core.protocol.websocket import Opcode
from tests.support.conversations import frame

MASK = b"\0\0\0\0"

AT_ONCE = 1_000

FLOODS: dict[str, tuple[bytes, bytes]] = {
    "pings": (b"", frame(Opcode.PING, b"", mask=MASK)),
    "pongs": (b"", frame(Opcode.PONG, b"", mask=MASK)),
    "fragments": (
        frame(Opcode.TEXT, b"", mask=MASK, final=False),
        frame(Opcode.CONTINUATION, b"", mask=MASK, final=False),
    ),
}
"""For each flood, what is sent first, and what is then repeated."""


def is_ended_by(sock: socket.socket, flood: str) -> bool:
    """Return whether the server closes the connection within a million frames; its answers are read."""
    first, again = FLOODS[flood]
    try:
        sock.sendall(first)
        for _ in range(1_000):
            sock.sendall(again * AT_ONCE)
            while select.select([sock], [], [], 0)[0]:
                if not sock.recv(65_536):
                    return True
    except TimeoutError:
        return False
    except OSError:  # Over TLS, a closed connection raises other errors.
        return True
    return False
