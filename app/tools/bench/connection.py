"""A swarm's connection: a bare non-blocking socket, its handshake, and its account of what came.

    connect -> request written -> head read -> (Socket.IO: OPEN, then CONNECT answered) -> live

The handshake is written for clarity; the swarm's own loop reads live connections.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import struct
from collections.abc import Callable

from app.core import kernel_stamps
from app.core.errors import MalformedFrame
from app.core.protocol.websocket import handshake_key, handshake_request
from app.core.wire import TRANSPORT_SSE
from app.tools.bench.decoding import Parsed, parse_events, parse_frames
from app.tools.bench.sequence_check import SequenceCheck

UNKNOWN = -1
"""As `last`: this connection has seen no notification yet, so that any may be its first."""

_HEAD_END = b"\r\n\r\n"
_HEAD_BYTES_MAX = 16_384

_KEY = b"\0\0\0\0"
"""A mask that changes nothing: frames need one, and nobody attacks a proxy here."""

CONNECT_FRAME = b"\x81\x82" + _KEY + b"40"
PONG_FRAME = b"\x81\x81" + _KEY + b"3"

_NO_PORT = getattr(socket, "IP_BIND_ADDRESS_NO_PORT", 24)
"""`linux/in.h`. Leaves the choice of the port to connect(2), which may take one that another peer has too."""

RECEIVE_BUFFER_BYTES = 65_536
"""SO_RCVBUF, so that it is always the swarm's core that acknowledges, and only when it reads.

By itself the kernel opens a window in steps of a kilobyte, so that one unread notification leaves it as wide as before.
Then who has 536 unacknowledged bytes acknowledges while the message is delivered, on loopback inside the server's `send`,
which takes a quarter longer. Writes of one notification stay below that, merged ones do not: the floor did without an
acknowledgement what the server had to do with one. With a buffer of this size the window counts every byte."""

_QUICK_ACK = getattr(socket, "TCP_QUICKACK", 12)
"""`linux/tcp.h`."""

_RESET = struct.pack("ii", 1, 0)
"""SO_LINGER: no TIME_WAIT, of which repetitions with thousands of connections would run out of ports."""


class Refused(Exception):
    """The server did not agree to serve this connection."""


class Connection(SequenceCheck):
    """One subscriber."""

    __slots__ = ("fd", "has_head", "is_live", "is_sse", "parse", "rest", "sock")

    def __init__(self, transport: str, host: str, port: int, source_host: str | None) -> None:
        super().__init__(UNKNOWN)
        self.is_sse = transport == TRANSPORT_SSE
        self.has_head = False
        self.is_live = False
        self.rest = b""
        self.parse: Callable[[bytes], Parsed] = parse_events if self.is_sse else parse_frames
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.sock.setblocking(False)  # noqa: FBT003 - the standard library's signature
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)
        kernel_stamps.enable(self.sock)
        if source_host is not None:
            self.sock.setsockopt(socket.IPPROTO_IP, _NO_PORT, 1)
            self.sock.bind((source_host, 0))
        code = self.sock.connect_ex((host, port))
        if code not in (0, errno.EINPROGRESS):
            self.close()
            raise OSError(code, os.strerror(code))
        self.fd = self.sock.fileno()

    def request(self) -> None:
        """Ask, once the connection stands. Raises `OSError` when it does not."""
        code = self.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            raise OSError(code, os.strerror(code))
        host, port = self.sock.getpeername()[:2]
        if self.is_sse:
            asked = (
                f"GET /events HTTP/1.1\r\nHost: {host}:{port}\r\nAccept: text/event-stream\r\n\r\n".encode()
            )
        else:
            target = "/socket.io/?EIO=4&transport=websocket"
            key = handshake_key(os.urandom(16))
            asked = handshake_request(host=f"{host}:{port}", target=target, key=key, headers={})
        self.sock.sendall(asked)  # a new connection's buffer takes it whole

    def advance(self, data: bytes) -> Parsed | None:
        """One read of a connection that is not live yet; what it holds behind the handshake, if it got there.

        Raises `Refused`.
        """
        data = self.rest + data
        if not self.has_head:
            head, found, data = data.partition(_HEAD_END)
            if not found:
                if len(head) > _HEAD_BYTES_MAX:
                    raise Refused("its answer's head does not end")
                self.rest = head
                return None
            if not head.startswith(b"HTTP/1.1 200 " if self.is_sse else b"HTTP/1.1 101 "):
                raise Refused(f"it answered {head.splitlines()[0].decode('latin-1')}")
            self.has_head = True
        try:
            parsed = self.parse(data)
        except MalformedFrame as error:
            raise Refused(str(error)) from error
        self.rest = parsed.rest
        if parsed.opened:
            self.sock.sendall(CONNECT_FRAME)
        if parsed.ended:
            raise Refused("it said goodbye at once")
        # An event stream begins with a block of its own, which says that the server is ready.
        self.is_live = parsed.idle > 0 if self.is_sse else parsed.connected
        if not self.is_live:
            return None
        return parsed

    def acknowledge_less(self) -> None:
        """From now on, until nothing has come for some 40 ms: then the kernel acknowledges at once again.

        An acknowledgement with each read makes the read dearer by two thirds, all of it on the swarm's core. A burst of
        single writes keeps a swarm that does so busy to 99 %, and then it measures itself: with notifications back to
        back the floor's p99 was 13 ms, of which 7 were the swarm's.
        """
        self.sock.setsockopt(socket.IPPROTO_TCP, _QUICK_ACK, 0)

    def close(self) -> None:
        """Leave without a trace in the kernel's tables."""
        with contextlib.suppress(OSError):
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.sock.close()
