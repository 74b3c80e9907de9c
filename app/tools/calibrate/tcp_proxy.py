"""A TCP proxy on loopback whose behaviour is a function per direction.

    source -> read, stamp -> queue -> way -> write -> sink

Each direction of a connection has two threads. One reads and stamps, so that a chunk that has to wait delays no stamp;
the other runs the way and writes what it yields.
"""

from __future__ import annotations

import contextlib
import ctypes
import queue
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Self

from app import clock

READ_BYTES = 65_536

CHUNKS_WAITING_MAX = 1_000
"""No more are read until one was written, so that a peer that does not read causes backpressure through the proxy."""

_PR_SET_TIMERSLACK = 29
"""`linux/prctl.h`. By default, the kernel may wake a sleeping thread 50 us late."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Result of one read; the last one of a direction is empty."""

    read_ns: int
    """Monotonic clock: arrival at the proxy."""
    data: bytes


Way = Callable[[Iterator[Chunk]], Iterator[bytes]]
"""Behaviour in one direction, called once for each connection: takes what arrives, and yields what is written.

It may wait, and runs on after a write that succeeded. Raising a `ConnectionError` ends the connection at both sides, and
a `ConnectionResetError` resets it.
"""


def forward(chunks: Iterator[Chunk]) -> Iterator[bytes]:
    """Pass everything on unchanged."""
    for chunk in chunks:
        yield chunk.data


class TcpProxy:
    """Proxy on a free port of loopback. Use it as a context manager; it listens until the end of the block."""

    def __init__(self, host: str, port: int, *, to_client: Way = forward, to_server: Way = forward) -> None:
        """`host`, `port`: the server's, which may start later."""
        self._target = (host, port)
        self._to_client = to_client
        self._to_server = to_server
        self._is_open = threading.Event()
        self._is_open.set()
        self._sockets = _OpenSockets()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.own_port = int(self._listener.getsockname()[1])
        """The port that the proxy listens on."""
        self.url = f"http://127.0.0.1:{self.own_port}"
        """Base URL of the proxy, to be used instead of the server's."""
        _start(self._accept)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        _shut_down(self._listener)
        self._listener.close()
        self._sockets.close()
        self._is_open.set()

    def shut(self) -> None:
        """Break every open connection; new ones wait until `open`."""
        self._is_open.clear()
        self._sockets.shut_down_all()

    def open(self) -> None:
        """Let new connections through again."""
        self._is_open.set()

    def cut(self, *, away_s: float = 0.0) -> None:
        """Break every open connection; new ones wait for the given time."""
        self.shut()
        opening = threading.Timer(away_s, self.open)
        opening.daemon = True
        opening.start()

    def _accept(self) -> None:
        while client := self._sockets.accept(self._listener):
            self._is_open.wait()
            server = self._sockets.connect(self._target)
            if server is None:  # Nobody listens, or the block has ended.
                _shut_down(client)
                continue
            for each in (client, server):
                with contextlib.suppress(OSError):  # The socket may have been closed by the proxy's end.
                    each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for source, sink, way in ((client, server, self._to_server), (server, client, self._to_client)):
                waiting: queue.Queue[Chunk] = queue.Queue(CHUNKS_WAITING_MAX)
                chunks = _until_end(waiting)
                _start(_read, source, waiting)
                _start(_write, way(chunks), chunks, source, sink)


class _OpenSockets:
    """Thread-safe set of open sockets: all are closed at the proxy's end, including one that is opened meanwhile."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._is_closed = False

    def accept(self, listener: socket.socket) -> socket.socket | None:
        """Accept the next connection and add it; return None after the end."""
        try:
            client, _ = listener.accept()
        except OSError:
            return None
        return client if self._add(client) else None

    def connect(self, target: tuple[str, int]) -> socket.socket | None:
        """Connect to `target` and add the socket; return None if nobody listens, or after the end."""
        try:
            server = socket.create_connection(target)
        except OSError:
            return None
        return server if self._add(server) else None

    def shut_down_all(self) -> None:
        """Shut down all current sockets; they are closed at the end as usual."""
        with self._lock:
            for each in self._sockets:
                _shut_down(each)

    def close(self) -> None:
        """Close all sockets. A socket that is added later is closed at once."""
        with self._lock:
            self._is_closed = True
        for each in self._sockets:
            _shut_down(each)
            each.close()

    def _add(self, sock: socket.socket) -> bool:
        """Add a socket, to be closed at the end. If that has passed, close it now and return False."""
        with self._lock:
            if not self._is_closed:
                self._sockets.append(sock)
                return True
        sock.close()
        return False


def sleep_until_ns(moment_ns: int) -> None:
    """Sleep until that time of the monotonic clock; return at once if it has passed."""
    left_ns = moment_ns - clock.monotonic_ns()
    if left_ns > 0:
        time.sleep(left_ns / 1e9)


def _start(target: Callable[..., None], *arguments: object) -> None:
    threading.Thread(target=target, args=arguments, name="siar-proxy", daemon=True).start()


def _read(source: socket.socket, waiting: queue.Queue[Chunk]) -> None:
    data = b"?"
    while data:
        try:
            data = source.recv(READ_BYTES)
        except OSError:
            data = b""
        waiting.put(Chunk(clock.monotonic_ns(), data))


def _until_end(waiting: queue.Queue[Chunk]) -> Iterator[Chunk]:
    while True:
        chunk = waiting.get()
        yield chunk
        if not chunk.data:
            return


def _write(
    pieces: Iterator[bytes], chunks: Iterator[Chunk], source: socket.socket, sink: socket.socket
) -> None:
    _set_exact_sleep()
    try:
        for piece in pieces:
            sink.sendall(piece)
        sink.shutdown(socket.SHUT_WR)
    except ConnectionResetError:
        _reset(source, sink)
    except OSError:
        _shut_down(source)
        _shut_down(sink)
    for _ in chunks:  # The reader may wait for room in the queue.
        pass


def _shut_down(sock: socket.socket) -> None:
    """Shut a socket down in both directions, so that a thread that waits for it wakes up."""
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)


def _reset(*socks: socket.socket) -> None:
    """Close sockets with a reset, unless they are closed already."""
    # They are taken from the other threads first, which would otherwise end them in order.
    for fd in [each.detach() for each in socks]:
        if fd != -1:
            with socket.socket(fileno=fd) as sock, contextlib.suppress(OSError):
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                sock.shutdown(
                    socket.SHUT_RD
                )  # Wakes its reader: the kernel closes no socket that is being read.


def _set_exact_sleep() -> None:
    """Set the timer slack of this thread to the minimum, if the platform can."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, 1)
