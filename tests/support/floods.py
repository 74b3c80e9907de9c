"""Frames that give no message, as many and as fast as they go."""

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
"""What comes first, and what then comes again and again."""


def is_ended_by(sock: socket.socket, flood: str) -> bool:
    """Whether the server ends the connection upon a million of them; what it answers is read."""
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
    except OSError:  # Over TLS the end of a connection has other names.
        return True
    return False
