"""A TCP proxy that delays the bytes from server to client by a fixed time: a known answer for the instrument.

Each chunk is stamped when it is read and released at read + delay, so that waiting for the one before it adds no delay.
With a delay of 0, data takes the same path, so that the proxy's own cost is in both arms.

    server -> read, stamp -> queue -> sleep until stamp + delay -> write -> client
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import queue
import socket
import sys
import threading
import time

from app.tools.calibrate.socket_registry import SocketRegistry, shut_down

_PR_SET_TIMERSLACK = 29
"""`linux/prctl.h`. By default, the kernel may wake a sleeping thread 50 us late."""


class DelayProxy:
    """Proxy on a free port of loopback. Use it as a context manager; it listens until the end of the block."""

    def __init__(
        self, host: str, port: int, *, delay_s: float, cut_at_chunk: int | None = None, away_s: float = 0.0
    ) -> None:
        """`cut_at_chunk`: break every connection, once, after so many chunks from the server.

        `away_s`: new connections then wait so long, and miss what is published meanwhile.
        """
        self.delay_s = delay_s
        self._cut_at_chunk = cut_at_chunk
        self._away_s = away_s
        self._back_s = 0.0
        self._numbers = itertools.count(1)
        """Numbers of chunks from the server over all connections, each of which has its own thread."""
        self.lateness_s: list[float] = []
        """Delay of each release after its due time: the proxy's own error."""
        self._target = (host, port)
        self._sockets = SocketRegistry()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> DelayProxy:
        return self

    def __exit__(self, *_error: object) -> None:
        shut_down(self._listener)
        self._listener.close()
        self._sockets.close()

    def cut(self, *, away_s: float = 0.0) -> None:
        """Break every open connection; new ones are accepted after the given time."""
        self._back_s = time.monotonic() + away_s
        self._sockets.shut_down_all()

    def _accept(self) -> None:
        while client := self._sockets.accept(self._listener):
            time.sleep(max(0.0, self._back_s - time.monotonic()))
            server = self._sockets.connect(self._target)
            if server is None:
                return
            for each in (client, server):
                with contextlib.suppress(OSError):  # The proxy may have been closed meanwhile.
                    each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            chunks: queue.SimpleQueue[tuple[int, bytes]] = queue.SimpleQueue()
            for target, arguments in (
                (_copy, (client, server)),
                (_stamp, (server, chunks)),
                (self._release, (chunks, client)),
            ):
                threading.Thread(target=target, args=arguments, daemon=True).start()

    def _release(self, chunks: queue.SimpleQueue[tuple[int, bytes]], client: socket.socket) -> None:
        _sleep_exactly()
        delay_ns = round(self.delay_s * 1e9)
        while True:
            read_ns, data = chunks.get()
            due_ns = read_ns + delay_ns
            left_ns = due_ns - time.monotonic_ns()
            if left_ns > 0:
                time.sleep(left_ns / 1e9)
            self.lateness_s.append((time.monotonic_ns() - due_ns) / 1e9)
            if next(self._numbers) == self._cut_at_chunk:
                self.cut(away_s=self._away_s)
            try:
                client.sendall(data)
                if not data:
                    client.shutdown(socket.SHUT_WR)
            except OSError:
                return
            if not data:
                return


def _stamp(server: socket.socket, chunks: queue.SimpleQueue[tuple[int, bytes]]) -> None:
    while True:
        try:
            data = server.recv(65_536)
        except OSError:
            data = b""
        chunks.put((time.monotonic_ns(), data))
        if not data:
            return


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


def _sleep_exactly() -> None:
    """Set the timer slack of this thread to the minimum, if the platform can."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, 1)
