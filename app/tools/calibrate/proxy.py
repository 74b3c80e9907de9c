"""A TCP proxy that impairs a stream notification by notification, and records what it did.

    server -> read, stamp -> queue -> sleep until stamp + delay -> stamp, write -> client

Each chunk is released at its own stamp + delay, so that waiting for the one before it adds no further delay. A chunk is
the result of one read. At calibration's rates that is exactly one notification, so that it can be dropped or repeated
without breaking the stream. Chunks with none or several notifications pass unchanged.
"""

from __future__ import annotations

import contextlib
import ctypes
import queue
import re
import socket
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import Self

from app import clock
from app.tools.calibrate.socket_registry import SocketRegistry, shut_down

READ_BYTES = 65_536

_PR_SET_TIMERSLACK = 29
"""`linux/prctl.h`. By default, the kernel may wake a sleeping thread 50 us late."""

_SEQ = re.compile(rb'"seq":(\d{1,9})')
"""A notification's number in its JSON; SSE and WebSocket frames from a server carry it as plain text."""


@dataclass(frozen=True, slots=True)
class Impairment:
    """Impairment of the stream from server to client; none by default."""

    delay_us: int = 0
    """Delay of every chunk."""
    delays_us: tuple[int, ...] = ()
    """Additional delay of each notification, indexed by its number."""
    dropped: frozenset[int] = frozenset()
    """Numbers of notifications that are not sent."""
    repeated: frozenset[int] = frozenset()
    """Numbers of notifications that are sent twice."""
    swapped: frozenset[int] = frozenset()
    """Numbers of notifications that are sent right after their successor."""
    cut_at: int | None = None
    """Number of the notification at which every connection is broken, once. It and the rest of its chunk are not
    sent."""
    outage_us: int = 0
    """Time after the break for which new connections have to wait."""


@dataclass(frozen=True, slots=True)
class Passage:
    """Record of a notification that was sent on."""

    connection: int
    """0-based, in the order of accepting."""
    seq: int
    read_us: float
    """True clock: arrival from the server."""
    released_us: float
    """True clock: right before the write to the client."""
    written_us: float
    """True clock: right after the write. The client's kernel received it between the two."""

    @property
    def held_us(self) -> float:
        """Time for which the proxy actually held it."""
        return self.released_us - self.read_us

    @property
    def uncertainty_us(self) -> float:
        """Uncertainty of `released_us` as the moment of sending."""
        return self.written_us - self.released_us


@dataclass(slots=True)
class _Chunk:
    read_ns: int
    data: bytes
    seqs: tuple[int, ...]

    @property
    def seq(self) -> int | None:
        """Number of the chunk's notification; `None` if it has none or several."""
        return self.seqs[0] if len(self.seqs) == 1 else None


@dataclass(slots=True, eq=False)
class Proxy:
    """Proxy on a free port of loopback. Use it as a context manager; it listens until the end of the block."""

    host: str
    port: int
    impairment: Impairment = Impairment()
    passages: list[Passage] = field(default_factory=list)
    """Records of what was sent on, in the order of release."""
    received: list[int] = field(default_factory=list)
    """Numbers of everything that came from the server."""
    cut_us: float | None = None
    """True clock: when the connections were broken; `None` before."""
    _listener: socket.socket = field(init=False, repr=False)
    _sockets: SocketRegistry = field(init=False, default_factory=SocketRegistry, repr=False)
    _cutting: threading.Lock = field(init=False, default_factory=threading.Lock, repr=False)
    _connections: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        threading.Thread(target=self._accept, name="siar-proxy", daemon=True).start()

    @property
    def own_port(self) -> int:
        """The port that the proxy listens on."""
        return int(self._listener.getsockname()[1])

    @property
    def url(self) -> str:
        """Base URL of the proxy, to be used instead of the server's."""
        return f"http://127.0.0.1:{self.own_port}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        shut_down(self._listener)
        self._listener.close()
        self._sockets.close()

    def _accept(self) -> None:
        while client := self._sockets.accept(self._listener):
            if self.cut_us is not None:
                _sleep_until_ns(round((self.cut_us + self.impairment.outage_us) * 1000))
            server = self._sockets.connect((self.host, self.port))
            if server is None:
                return
            for each in (client, server):
                with contextlib.suppress(OSError):  # The socket may have been closed by the proxy's end.
                    each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            chunks: queue.SimpleQueue[_Chunk] = queue.SimpleQueue()
            for target, arguments in (
                (_copy, (client, server)),
                (_stamp, (server, chunks)),
                (self._send_on, (self._connections, chunks, client)),
            ):
                threading.Thread(target=target, args=arguments, name="siar-proxy", daemon=True).start()
            self._connections += 1

    def _send_on(self, connection: int, chunks: queue.SimpleQueue[_Chunk], client: socket.socket) -> None:
        _set_exact_sleep()
        waiting: _Chunk | None = None  # A swapped chunk, which follows the next one.
        while True:
            chunk = chunks.get()
            self.received += chunk.seqs
            _sleep_until_ns(chunk.read_ns + 1000 * self._delay_us(chunk))
            if self._is_to_cut(chunk) and self._cut():
                return
            sending = [] if chunk.seq in self.impairment.dropped else [chunk]
            if chunk.seq in self.impairment.repeated:
                sending.append(chunk)
            if chunk.seq in self.impairment.swapped and waiting is None:
                sending, waiting = [], chunk
            elif waiting is not None:
                sending, waiting = [*sending, waiting], None
            try:
                for each in sending:
                    self._write(connection, each, client)
                if not chunk.data:
                    client.shutdown(socket.SHUT_WR)
            except OSError:
                return
            if not chunk.data:
                return

    def _write(self, connection: int, chunk: _Chunk, client: socket.socket) -> None:
        # On loopback, the peer's kernel has the data before the call returns.
        released_us = clock.monotonic_ns() / 1000
        client.sendall(chunk.data)
        written_us = clock.monotonic_ns() / 1000
        self.passages += [
            Passage(connection, seq, chunk.read_ns / 1000, released_us, written_us) for seq in chunk.seqs
        ]

    def _delay_us(self, chunk: _Chunk) -> int:
        own = self.impairment.delays_us
        extra_us = own[chunk.seq] if chunk.seq is not None and chunk.seq < len(own) else 0
        return self.impairment.delay_us + extra_us

    def _is_to_cut(self, chunk: _Chunk) -> bool:
        """Return whether to break the connections: at the number or any later one.

        The number may have come in one chunk with the next, or a client that connected later may have missed it.
        """
        cut_at = self.impairment.cut_at
        return cut_at is not None and max(chunk.seqs, default=-1) >= cut_at

    def _cut(self) -> bool:
        """Break every connection, and return true; false if that was done before."""
        with self._cutting:
            if self.cut_us is not None:
                return False
            self.cut_us = clock.monotonic_ns() / 1000
        self._sockets.shut_down_all()
        return True


def _stamp(server: socket.socket, chunks: queue.SimpleQueue[_Chunk]) -> None:
    while True:
        try:
            data = server.recv(READ_BYTES)
        except OSError:
            data = b""
        read_ns = clock.monotonic_ns()
        chunks.put(_Chunk(read_ns, data, tuple(map(int, _SEQ.findall(data)))))
        if not data:
            return


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(READ_BYTES):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


def _sleep_until_ns(moment_ns: int) -> None:
    left_ns = moment_ns - clock.monotonic_ns()
    if left_ns > 0:
        time.sleep(left_ns / 1e9)


def _set_exact_sleep() -> None:
    """Set the timer slack of this thread to the minimum, if the platform can."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, 1)
