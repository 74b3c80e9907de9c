"""Non-blocking sockets in an event loop that stamps before it decodes.

    select -> read and stamp all that is ready -> decode one chunk -> select without waiting -> ...

In a broadcast all clients become readable within a fraction of a millisecond. If each chunk were decoded before the next read,
the stamp of the k-th client would be late by k decodings (measurement.md section 2). Here it is late by one at most. The count
of chunks that wait for decoding is bounded.
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
import selectors
import socket
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace

from app import clock
from app.core import kernel_stamps
from app.core.encryption import Encryption
from app.core.units import MonotonicUs

READ_BYTES = 65_536

UNDECODED_MAX = 1_024
"""Chunks that may wait for decoding. Above it they are decoded first, and the kernel's buffers hold the rest."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Data of one read, with its stamps."""

    data: bytes
    """Empty when the peer has closed the connection."""
    read_us: MonotonicUs
    """Client clock, right after the read."""
    kernel_ns: int | None
    """CLOCK_REALTIME when the kernel received the last byte; `None` where it gives no stamp."""


class Link:
    """One connected or connecting socket."""

    def __init__(
        self,
        host: str,
        port: int,
        *,
        on_open: Callable[[], None],
        on_chunk: Callable[[Chunk], None],
        encryption: Encryption | None = None,
    ) -> None:
        """Start connecting. Raises `OSError` when the connection is refused at once.

        With `encryption`, a fresh TLS state, `on_open` is called after the handshake.
        """
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        self.socket = socket.socket(family, kind, protocol)
        self.is_open = False
        self.on_open, self.on_chunk = on_open, on_chunk
        self.trouble: str | None = None
        """Reason why the connection ended, if TLS gave one."""
        self._encryption = encryption
        self._outgoing = bytearray()
        self._stamped = False
        try:
            self.socket.settimeout(0)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._stamped = kernel_stamps.enable(self.socket)
            with contextlib.suppress(BlockingIOError):
                self.socket.connect(address)
        except OSError:
            self.socket.close()
            raise

    @property
    def address(self) -> tuple[str, int]:
        """Our end, by which the server knows this connection; fixed when connecting began."""
        host, port, *_ = self.socket.getsockname()
        return host, port

    def read(self) -> Chunk | None:
        """Read once; return the data with its stamps, or `None` when nothing was available."""
        chunk = self._read()
        if chunk is None or self._encryption is None or not chunk.data:
            return chunk
        return self._decrypted(chunk, self._encryption)

    def _read(self) -> Chunk | None:
        try:
            if not self._stamped:
                data = self.socket.recv(READ_BYTES)
                return Chunk(data, clock.monotonic_us(), None)
            data, ancillary, _, _ = self.socket.recvmsg(READ_BYTES, kernel_stamps.ROOM_BYTES)
            read_us = clock.monotonic_us()
        except (BlockingIOError, InterruptedError):
            return None
        except OSError:
            return Chunk(b"", clock.monotonic_us(), None)
        return Chunk(data, read_us, kernel_stamps.stamp_ns(ancillary))

    def _decrypted(self, chunk: Chunk, encryption: Encryption) -> Chunk | None:
        """Return the decrypted data with the read's stamps; `None` while no record is complete."""
        was_open = encryption.is_open
        try:
            data = encryption.receive_data(chunk.data)
        except OSError as error:
            self.trouble = str(error)
            return replace(chunk, data=b"")
        self._send(encryption.to_send())
        if encryption.is_open and not was_open:
            self.on_open()
        return replace(chunk, data=data) if data or encryption.ended else None

    def send(self, data: bytes) -> None:
        """Send what the kernel accepts now; the rest follows when the socket is writable. Errors surface on reading."""
        self._send(data if self._encryption is None or not data else self._encryption.encrypt(data))

    def _send(self, data: bytes) -> None:
        self._outgoing += data
        try:
            while self._outgoing:
                count = self.socket.send(self._outgoing)
                del self._outgoing[:count]
        except (BlockingIOError, InterruptedError):
            pass
        except OSError:
            self._outgoing.clear()

    @property
    def wants_to_write(self) -> bool:
        """True while the socket has to be watched for writing: while it connects, and while data waits."""
        return not self.is_open or bool(self._outgoing)

    def on_writable(self) -> None:
        """Complete the connection, or send waiting data."""
        if not self.is_open:
            if self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                return  # Reading reports the error.
            self.is_open = True
            if self._encryption is None:
                self.on_open()
            else:
                self._send(self._encryption.to_send())
        self.send(b"")


class Loop:
    """An event loop of links, plain file descriptors and timers."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._timers: list[tuple[int, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._events: dict[Link, int] = {}
        self._undecoded: deque[tuple[Link, Chunk]] = deque()

    def add(self, link: Link) -> None:
        """Watch a link."""
        self._events[link] = selectors.EVENT_READ | selectors.EVENT_WRITE
        self._selector.register(link.socket, self._events[link], link)

    def send(self, link: Link, data: bytes) -> None:
        """Send through a link; what the kernel does not accept is sent when the socket is writable."""
        link.send(data)
        self._watch_for_writing(link)

    def remove(self, link: Link) -> None:
        """Close a link. Removing it again does nothing."""
        if self._events.pop(link, None) is not None:
            self._selector.unregister(link.socket)
            link.socket.close()

    def watch(self, file_descriptor: int, on_readable: Callable[[], None]) -> None:
        """Call `on_readable` whenever the descriptor is readable."""
        self._selector.register(file_descriptor, selectors.EVENT_READ, on_readable)

    def call_later(self, delay_us: int, callback: Callable[[], None]) -> None:
        """Call once, after at least `delay_us`."""
        heapq.heappush(self._timers, (clock.monotonic_us() + delay_us, next(self._order), callback))

    def turn(self) -> None:
        """Wait for the next event; read and stamp all that is ready, decode one chunk, and call due timers."""
        for key, events in self._selector.select(self._patience_s()):
            if not isinstance(key.data, Link):
                key.data()
                continue
            if key.data not in self._events:
                continue  # An earlier event of this iteration has removed it.
            if events & selectors.EVENT_WRITE:
                key.data.on_writable()
                self._watch_for_writing(key.data)
            if events & selectors.EVENT_READ:
                if (chunk := key.data.read()) is not None:
                    self._undecoded.append((key.data, chunk))
                self._watch_for_writing(key.data)  # Reading TLS may have produced data to send.
        self._decode(max(1, len(self._undecoded) - UNDECODED_MAX))
        while self._timers and self._timers[0][0] <= clock.monotonic_us():
            heapq.heappop(self._timers)[2]()

    def drain(self) -> None:
        """Decode everything that has been read."""
        self._decode(len(self._undecoded))

    def _patience_s(self) -> float | None:
        if self._undecoded:
            return 0.0
        return max(0, self._timers[0][0] - clock.monotonic_us()) / 1e6 if self._timers else None

    def _decode(self, count: int) -> None:
        for _ in range(min(count, len(self._undecoded))):
            link, chunk = self._undecoded.popleft()
            if link in self._events:
                link.on_chunk(chunk)

    def _watch_for_writing(self, link: Link) -> None:
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if link.wants_to_write else 0)
        if self._events.get(link, wanted) != wanted:
            self._selector.modify(link.socket, wanted, link)
            self._events[link] = wanted
