"""Many subscribers and a few publishers on one epoll, without threads: the order of events depends on a seed only.

Swarm ---+--- Subscriber x N   reads, stalls, trickles, resets, leaves and reconnects, as commanded
         +--- Publisher x M    one notification after another on a keep-alive connection
"""

from __future__ import annotations

import heapq
import itertools
import json
import select
import socket
import struct
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from app.core.client import Subscription
from app.core.protocol.http_response import ResponseDecoder
from tests.support.server import RunningServer
from tests.support.subscriber import EVENT_PROTOCOLS, EventProtocol, Ledger

RECEIVE_BUFFER_BYTES = 8_192
"""Small, so that the server soon feels a client that does not read."""

SEGMENT_BYTES = 1_400
"""Segment size of a LAN. With loopback's 64 KB, so small a buffer never has room for a whole segment. Then the receiver
does not advertise its window (RFC 9293, 3.8.6.2.2), and gets 6 KB with each window probe of its peer: 30 KB/s.
"""

READ_BYTES = 65_536


class Ready(Protocol):
    def on_ready(self) -> None:
        """Handle data or the end of the connection."""
        ...

    def close(self) -> None:
        """Close the connection."""
        ...


class Swarm:
    """The event loop and its timers; closes all members at the end of its block."""

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._watched: dict[int, Ready] = {}
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()

    def __enter__(self) -> Swarm:
        return self

    def __exit__(self, *_error: object) -> None:
        for each in list(self._watched.values()):
            each.close()
        self._epoll.close()

    def watch(self, sock: socket.socket, ready: Ready, *, is_connecting: bool = False) -> None:
        """Call `ready` when there is data; or, for a socket that connects, when it is connected or was refused."""
        self._watched[sock.fileno()] = ready
        self._epoll.register(sock.fileno(), select.EPOLLOUT if is_connecting else select.EPOLLIN)

    def listen(self, sock: socket.socket, *, wanted: bool) -> None:
        """Set whether its data is read, or left to fill the buffers."""
        self._epoll.modify(sock.fileno(), select.EPOLLIN if wanted else 0)

    def forget(self, sock: socket.socket) -> None:
        del self._watched[sock.fileno()]
        self._epoll.unregister(sock.fileno())

    def after(self, delay_s: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._timers, (time.monotonic() + delay_s, next(self._numbers), action))

    def run(self, done: Callable[[], bool], timeout_s: float) -> bool:
        """Run until `done`. Returns whether that happened in time."""
        deadline_s = time.monotonic() + timeout_s
        while not done():
            now_s = time.monotonic()
            if now_s > deadline_s:
                return False
            wait_s = min(0.1, max(0.0, self._timers[0][0] - now_s)) if self._timers else 0.1
            for fd, _events in self._epoll.poll(wait_s):
                if fd in self._watched:
                    self._watched[fd].on_ready()
            while self._timers and self._timers[0][0] <= time.monotonic():
                heapq.heappop(self._timers)[2]()
        return True


class Subscriber:
    """A client over all of its connections. By default it reads data as it arrives."""

    def __init__(
        self, swarm: Swarm, server: RunningServer, transport: str, *, source: str = "127.0.0.1"
    ) -> None:
        """`source`: the loopback address that it connects from (Linux has all of 127.0.0.0/8)."""
        self.transport = transport
        self.ledger = Ledger()
        self.counts: Counter[str] = Counter()
        """Numbers of events by kind."""
        self.on_bytes: Callable[[], None] = lambda: None
        self._swarm = swarm
        self._address = ("127.0.0.1", server.port)
        self._url = server.url
        self._source = source
        self._sock: socket.socket | None = None
        self._protocol: EventProtocol | None = None
        self._life = 0
        """Incremented with each connection and mood, so that timers of earlier ones are ignored."""

    @property
    def is_connected(self) -> bool:
        return self._sock is not None

    def connect(self) -> None:
        """Connect, or reconnect to where it left off."""
        assert self._sock is None
        self.counts["connect"] += 1
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, SEGMENT_BYTES)
        sock.connect(self._address)
        sock.setblocking(False)
        subscription = Subscription(self._url, (), self.ledger.position)
        self._sock, self._protocol = sock, EVENT_PROTOCOLS[self.transport](subscription)
        self._protocol.outgoing += self._protocol.opening()
        self._swarm.watch(sock, self)
        self._send()

    def on_ready(self) -> None:
        self._read(READ_BYTES)

    def read(self) -> None:
        """Read data as it arrives."""
        self._life += 1
        if self._sock is not None:
            self._swarm.listen(self._sock, wanted=True)

    def stall(self) -> None:
        """Stop reading."""
        self._life += 1
        if self._sock is not None:
            self._swarm.listen(self._sock, wanted=False)

    def trickle(self, sizes: Iterator[int], pause_s: float) -> None:
        """Read only a few bytes at a time."""
        self.stall()
        life = self._life

        def sip() -> None:
            if life == self._life and self._sock is not None:
                self._read(next(sizes))
                self._swarm.after(pause_s, sip)

        sip()

    def close(self) -> None:
        """Close for good."""
        self.leave(reset=True)

    def leave(self, *, reset: bool) -> None:
        """Close the connection, orderly or with a reset."""
        self._life += 1
        if self._sock is None:
            return
        if reset:
            self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._swarm.forget(self._sock)
        self._sock.close()
        self._sock = self._protocol = None

    def _read(self, size: int) -> None:
        assert self._sock is not None
        assert self._protocol is not None
        try:
            data = self._sock.recv(size)
        except BlockingIOError:
            return
        except ConnectionError:
            data = b""
        self._protocol.receive_data(data)
        self.ledger.take(self._protocol)
        self.on_bytes()
        if data and not self._protocol.ended:
            self._send()
        else:
            self.counts["ended by the server"] += 1
            self.leave(reset=False)

    def _send(self) -> None:
        assert self._sock is not None
        assert self._protocol is not None
        if self._protocol.outgoing:
            try:
                self._sock.sendall(self._protocol.outgoing)  # A few bytes, which always fit.
            except ConnectionError:
                return  # The next read detects the end.
            self._protocol.outgoing.clear()


class Publisher:
    """A keep-alive connection that publishes `notifications`, each after the answer to the one before."""

    def __init__(
        self,
        swarm: Swarm,
        server: RunningServer,
        notifications: Iterator[dict[str, Any]],
        *,
        pause_s: float = 0.0,
    ) -> None:
        self.finished = False
        self._pause_s = pause_s
        self._notifications = notifications
        self._head = f"POST /api/notifications HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {server.admin_token}\r\n"
        self._sock = socket.create_connection(("127.0.0.1", server.port))
        self._swarm = swarm
        swarm.watch(self._sock, self)
        self._publish()

    def on_ready(self) -> None:
        data = self._sock.recv(READ_BYTES)
        assert data, "the server ended a publisher's connection"
        body = self._response.feed(data)
        if self._response.finished:
            assert self._response.head is not None
            assert self._response.head.status == 201, body
            if self._pause_s:
                self._swarm.after(self._pause_s, self._publish)
            else:
                self._publish()

    def close(self) -> None:
        """Stop publishing."""
        self._swarm.forget(self._sock)
        self._sock.close()

    def _publish(self) -> None:
        self._response = ResponseDecoder()
        notification = next(self._notifications, None)
        if notification is None:
            self.finished = True
            self.close()
            return
        body = json.dumps(notification).encode()
        head = f"{self._head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        self._sock.sendall(head.encode() + body)
