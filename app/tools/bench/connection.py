"""A subscriber's connection in a swarm: a non-blocking socket, its handshake, and its sequence check.

    connect -> request written -> head read -> (Socket.IO: OPEN, then CONNECT answered) -> live

The handshake is written for clarity; live connections are read by the swarm's own fast loop.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import struct
from collections.abc import Callable, Iterable

from app.core import kernel_stamps
from app.core.errors import MalformedFrame
from app.core.protocol.websocket import handshake_key, handshake_request
from app.core.wire import TRANSPORT_SSE
from app.tools.bench.decoding import Parsed, parse_events, parse_frames

UNKNOWN = -1
"""Value of `last` before the first notification, which may have any offset."""

_HEAD_END = b"\r\n\r\n"
_HEAD_BYTES_MAX = 16_384

_KEY = b"\0\0\0\0"
"""A mask that changes nothing: client frames must be masked, and no proxy is at risk here."""

CONNECT_FRAME = b"\x81\x82" + _KEY + b"40"
PONG_FRAME = b"\x81\x81" + _KEY + b"3"

_NO_PORT = getattr(socket, "IP_BIND_ADDRESS_NO_PORT", 24)
"""`linux/in.h`. Leaves the choice of the port to connect(2), which may reuse a port with another peer."""

RECEIVE_BUFFER_BYTES = 65_536
"""SO_RCVBUF. With a fixed size, the kernel acknowledges only when the swarm reads, and on the swarm's core.

By default, the kernel grows the window in steps of a kilobyte, so that one unread notification does not shrink it. Then
a receiver with 536 unacknowledged bytes acknowledges while the data is delivered: on loopback inside the server's
`send`, which takes a quarter longer. Single notifications stay below that limit and merged writes do not, so the floor
was spared acknowledgements that the server had to handle. With a buffer of this size, the window counts every byte."""

_QUICK_ACK = getattr(socket, "TCP_QUICKACK", 12)
"""`linux/tcp.h`."""

_RESET = struct.pack("ii", 1, 0)
"""SO_LINGER with reset: avoids TIME_WAIT, which would use up the ports after some repetitions with thousands of
connections."""


class Refused(Exception):
    """The server did not accept this connection."""


class SequenceCheck:
    """Check that one connection gets everything that was published, exactly once and in order.

    The common case, the next offset or a consecutive run, is one comparison in the swarm's loop (`last`). Here, missing
    offsets are remembered until they arrive late, or never.
    """

    __slots__ = ("duplicates", "last", "missing", "out_of_order")

    def __init__(self, last: int) -> None:
        self.last = last
        """The highest offset seen."""
        self.missing: set[int] = set()
        """Offsets below `last` that have not arrived."""
        self.duplicates = 0
        self.out_of_order = 0

    def check(self, offsets: Iterable[int]) -> int:
        """Check offsets in the order of arrival. Returns how many of them were new."""
        new = 0
        for offset in offsets:
            if offset > self.last:
                self.missing.update(range(self.last + 1, offset))
                self.last = offset
            elif offset in self.missing:
                self.missing.remove(offset)
                self.out_of_order += 1
            else:
                self.duplicates += 1
                continue
            new += 1
        return new

    def lost(self, expected_last: int) -> int:
        """Return how many offsets up to `expected_last` have not arrived."""
        return len(self.missing) + max(0, expected_last - self.last)

    def restart(self) -> None:
        """Begin a new window after what has been seen."""
        self.missing.clear()
        self.duplicates = self.out_of_order = 0


class Connection(SequenceCheck):
    """One subscriber's connection."""

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
        """Send the request once the connection is established. Raises `OSError` if it failed."""
        code = self.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            raise OSError(code, os.strerror(code))
        host, port = self.sock.getpeername()[:2]
        if self.is_sse:
            request = (
                f"GET /events HTTP/1.1\r\nHost: {host}:{port}\r\nAccept: text/event-stream\r\n\r\n".encode()
            )
        else:
            target = "/socket.io/?EIO=4&transport=websocket"
            key = handshake_key(os.urandom(16))
            request = handshake_request(host=f"{host}:{port}", target=target, key=key, headers={})
        self.sock.sendall(request)  # A new connection's buffer is large enough for it.

    def advance(self, data: bytes) -> Parsed | None:
        """Process data of a connection that is not live yet.

        Returns what followed the handshake once it is complete, else None. Raises `Refused`.
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
        # An event stream begins with a block that tells that the server is ready.
        self.is_live = parsed.idle > 0 if self.is_sse else parsed.connected
        if not self.is_live:
            return None
        return parsed

    def acknowledge_less(self) -> None:
        """Delay acknowledgements until the connection was idle for some 40 ms.

        Then the kernel acknowledges at once again. An acknowledgement with each read makes the read two thirds more
        expensive, all of it on the swarm's core. In a burst of single writes, that core would be 99 % busy, and the
        swarm would measure itself: the floor's p99 with back-to-back notifications was 13 ms, of which 7 ms were the
        swarm's.
        """
        self.sock.setsockopt(socket.IPPROTO_TCP, _QUICK_ACK, 0)

    def close(self) -> None:
        """Close with a reset, so that the kernel keeps no state."""
        with contextlib.suppress(OSError):
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.sock.close()
