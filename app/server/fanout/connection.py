"""A detached connection: its socket and the bytes that wait to be written to it.

Bytes wait in three places and leave in this order:

    _own       bytes for this connection alone; the kernel may have taken a part of them
    _backlog   the replay, produced piece by piece when there is room, and what was written after it
    stream     what all connections of the channel get, from `cursor` on

There is no thread and no queue per connection: an idle one is a socket, a number and a few references.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
from collections.abc import Iterator
from typing import Protocol

from app import clock
from app.server.broker.base import Filter, Replay
from app.server.fanout.closed import CLOSED_BY_CLIENT, CLOSED_LOST, CLOSED_SLOW, Closed
from app.server.fanout.stream import Stream
from app.server.wsgi import epoll
from app.server.wsgi.loop import Loop
from app.server.wsgi.takeover import RawSocket

logger = logging.getLogger("siar.outlet")

READ_BYTES = 1024
"""Bytes that one `recv` takes: as many of the smallest frames as fit take about one iteration of the loop."""

WRITE_BYTES_MAX = 131_072
"""Upper bound of one write, about what a modest send buffer takes at once."""

PUSH_US = 2_000
"""Time limit of writing to one peer that takes everything at once. The loop continues with it after the others."""

GOODBYE_US = 2_000_000
"""Time limit for a peer to answer our FIN with its own."""


class JoinedChannel(Protocol):
    """The channel as a connection uses it."""

    blocked: set[DetachedConnection]

    @property
    def stream(self) -> Stream:
        """The frames that all members get."""
        ...

    def add(self, connection: DetachedConnection) -> None:
        """Add a member."""
        ...

    def remove(self, connection: DetachedConnection) -> None:
        """Remove a member."""
        ...

    def wrote(self, connection: DetachedConnection, handed_ns: int) -> None:
        """Record a write that the kernel has taken."""
        ...

    def forget_if_empty(self) -> None:
        """Remove the channel from the fan-out if its last member has left."""
        ...


class ConnectionHost(Protocol):
    """The flusher as a connection uses it."""

    bytes_max: int
    ending: set[DetachedConnection]

    @property
    def loop(self) -> Loop:
        """The readiness loop."""
        ...

    @property
    def lock(self) -> threading.RLock:
        """The lock over all connections and channels."""
        ...


class WriteState:
    """The fields that a flush reads of each connection, kept together because its CPU caches are cold."""

    __slots__ = ("channel", "cursor", "is_blocked", "sock")


class DetachedConnection(WriteState):
    """A detached connection: `Connection` of framing.py on the direct path. Its methods may be called from any thread.

    1. Bytes leave in the order described above and never in the middle of a frame of the stream.
    2. `on_closed` is called once, whoever ended the connection: when its end begins, not when the last byte has left.
       Neither it nor `on_data` may block.
    """

    __slots__ = ("_backlog", "_ending", "_frame_bytes", "_is_read_paused", "_own", "fd", "flusher")

    def __init__(self, flusher: ConnectionHost, sock: RawSocket) -> None:
        self.flusher = flusher
        self.sock: RawSocket | None = sock
        """`None` once it has ended."""
        self.fd = sock.fileno()
        self.channel: JoinedChannel | None = None
        """The channel whose stream it reads; `None` before `join` and after `leave`."""
        self.cursor = 0
        """Its position in the channel's stream, in bytes."""
        self.is_blocked = False
        """The kernel's send buffer is full, and the loop waits for it to become writable."""
        self._own: bytes | bytearray = b""
        """A `bytearray` once something is appended. Thousands of packets may wait here one by one
        (socket_io/engine/outgoing.py), and copying all of them for each new one would stop the server."""
        self._frame_bytes = 0
        """Length of the rest of a stream frame at the front of `_own`."""
        self._backlog: _ReplayBacklog | None = None
        self._is_read_paused = False
        """Reading is paused: the peer's bytes stay in the kernel's receive buffer."""
        self._ending: Closed | None = None
        """Reason of the end, set while the last bytes are still waiting."""

    @property
    def wanted(self) -> Filter:
        """The notifications that it subscribes to."""
        raise NotImplementedError

    @property
    def encoding(self) -> str:
        """The encoding of its channel; empty where the transport has only one."""
        return ""

    @property
    def detached(self) -> DetachedConnection:
        """Itself: it joins a channel."""
        return self

    def start(self, replay: Replay) -> None:
        """Write the opening of the stream and the replay."""
        raise NotImplementedError

    def end(self, reason: Closed) -> None:
        """End the connection from our side, after what is queued."""
        raise NotImplementedError

    def on_data(self, data: bytes) -> None:
        """Handle bytes from the peer."""
        raise NotImplementedError

    def on_closed(self, reason: Closed) -> None:
        """Handle the end of the connection."""
        raise NotImplementedError

    def open(self) -> None:
        """Register with the readiness loop. Must precede the first write."""
        assert self.sock is not None
        self.flusher.loop.watch(self.fd, self)

    def on_events(self, events: int) -> None:
        """Handle readiness. `recv` decides what happened: an event may concern the descriptor's previous owner."""
        with self.flusher.lock:
            if events & epoll.OUT and self.sock is not None:
                self._push()
            if events & ~epoll.OUT and self.sock is not None:
                self._receive(self.sock)

    def listen(self, *, wanted: bool) -> None:
        """Read what the peer writes, or stop reading it. The end of the connection is noticed in any case."""
        with self.flusher.lock:
            if self.sock is not None and self._is_read_paused is wanted:
                self._is_read_paused = not wanted
                self.flusher.loop.want(self.fd, read=wanted, write=self.is_blocked)

    def write(self, data: bytes, replay: Iterator[bytes] | None = None) -> None:
        """Write bytes for this connection alone, before the part of the stream that it has not begun to read.

        `replay` yields further pieces, each requested when there is room for it.
        """
        with self.flusher.lock:
            if not self.is_open:
                return
            self._finish_frame()
            self._add(data)
            if replay is not None:
                assert self._backlog is None
                self._backlog = _ReplayBacklog(replay)
            if not self.is_blocked:
                self._push()
            else:
                self.cut_if_slow()

    def write_in_order(self, data: bytes) -> None:
        """Write bytes for this connection alone, after everything that its stream holds so far."""
        with self.flusher.lock:
            rest = self._rest_of_the_stream() + data
            if self._backlog is not None:  # The replay is still on its way, and this has to follow it.
                self._backlog.after += rest
                self.cut_if_slow()
            else:
                self.write(rest)

    def join(self, channel: JoinedChannel) -> None:
        """Receive everything that is appended to the channel from now on."""
        with self.flusher.lock:
            if self.is_open:
                self.channel = channel
                self.cursor = channel.stream.end
                channel.add(self)

    def leave(self) -> None:
        """Leave the channel and drop the rest of the replay; a last frame that waits is still written."""
        with self.flusher.lock:
            if self._ending is None:
                self._backlog = None
                if self.sock is not None:
                    self._finish_frame()  # The connection may stay open, as a session that left its namespace does.
            if self.channel is not None:
                self.channel.remove(self)
                self.channel = None

    @property
    def is_open(self) -> bool:
        """True while it may be written to: there is a socket, and no last frame was written."""
        return self.sock is not None and self._ending is None

    @property
    def waiting_bytes(self) -> int:
        """Bytes that the kernel has not taken yet. The replay counts piece by piece, when it is produced."""
        unread = self.channel.stream.end - self.cursor if self.channel is not None else 0
        return len(self._own) + unread + (len(self._backlog.after) if self._backlog is not None else 0)

    def block(self) -> None:
        """Wait until the socket is writable: its send buffer is full."""
        if not self.is_blocked and self.sock is not None:
            self.is_blocked = True
            if self.channel is not None:
                self.channel.blocked.add(self)
            self.flusher.loop.want(self.fd, read=not self._is_read_paused, write=True)

    def cut_if_slow(self) -> None:
        """Drop a slow consumer by the bytes for it alone; the flusher bounds what the stream keeps for it."""
        if self.waiting_bytes > self.flusher.bytes_max:
            self.drop(CLOSED_SLOW)

    def drop(self, reason: Closed) -> None:
        """End the connection now. What waits is dropped; a reconnecting client gets it from history."""
        with self.flusher.lock:
            sock, self.sock = self.sock, None
            if sock is None:
                return
            self.flusher.loop.forget(self.fd)
            self.flusher.ending.discard(self)
            self._own, self._backlog = b"", None
            sock.close()
            if self._ending is None:
                self._notify_closed(reason)
            self.leave()

    def finish(self, last_frame: bytes, reason: Closed) -> None:
        """Write what waits and `last_frame`, then end the connection. A peer that does not read it in time is dropped."""
        with self.flusher.lock:
            if not self.is_open:
                return
            self.write_in_order(last_frame)
            if self.sock is None:  # The write has found the connection gone.
                return
            self._ending = reason
            self.flusher.ending.add(self)
            self._notify_closed(reason)
            self.leave()
            if not self.is_blocked:
                self._shut_down_writing()
            loop = self.flusher.loop
            loop.call_once(GOODBYE_US, lambda: self.drop(reason))

    def _notify_closed(self, reason: Closed) -> None:
        if self.channel is not None:  # `on_closed` may publish, which must not be written to this connection.
            self.channel.remove(self)
        try:
            self.on_closed(reason)
        except Exception:  # It must fail neither the publisher nor the connections that are written to next.
            logger.exception("The end of a connection failed.")

    def _receive(self, sock: RawSocket) -> None:
        try:
            data = sock.recv(READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            self.drop(self._ending or CLOSED_LOST)
            return
        if not data:
            self.drop(self._ending or CLOSED_BY_CLIENT)
        elif self._ending is None:
            self.on_data(data)

    def _push(self) -> None:
        """Write until the kernel takes no more or `PUSH_US` have passed; the loop calls again for the rest."""
        until_us = clock.monotonic_us() + PUSH_US
        while self.sock is not None and (data := self._next()):
            handed_ns = clock.monotonic_ns()
            try:
                taken = self.sock.send(data)
            except BlockingIOError:
                taken = 0
            except OSError:
                self.drop(self._ending or CLOSED_LOST)
                return
            self._advance(taken, handed_ns)
            if taken < len(data) or clock.monotonic_us() >= until_us:
                self.block()
                return
        self._unblock()
        if self._ending is not None:
            self._shut_down_writing()

    def _shut_down_writing(self) -> None:
        """Send FIN first: closing with unread bytes would reset the connection and lose what is in flight."""
        self.flusher.ending.discard(self)
        if self.sock is not None:
            with contextlib.suppress(OSError):
                self.sock.shutdown(socket.SHUT_WR)

    def _unblock(self) -> None:
        if self.is_blocked and self.sock is not None:
            self.is_blocked = False
            if self.channel is not None:
                self.channel.blocked.discard(self)
            self.flusher.loop.want(self.fd, read=not self._is_read_paused, write=False)

    def _add(self, data: bytes) -> None:
        if not self._own:
            self._own = data
            return
        if not isinstance(self._own, bytearray):
            self._own = bytearray(self._own)
        self._own += data

    def _finish_frame(self) -> None:
        """Move the rest of a frame that the kernel has cut to `_own`: nothing may come between its halves."""
        if self.channel is None or self._own or self._backlog is not None:
            return
        end = self.channel.stream.frame_end(self.cursor)
        if end != self.cursor:
            self._own = self.channel.stream.read(self.cursor, 1)
            self._frame_bytes = len(self._own)
            self.cursor = end

    def _rest_of_the_stream(self) -> bytes:
        """Return what it has not begun to read of the stream, perhaps nothing, and count it as read."""
        if self.channel is None or self.cursor == self.channel.stream.end:
            return b""
        stream, pieces = self.channel.stream, []
        while self.cursor != stream.end:  # A read may return less than was requested.
            pieces.append(stream.read(self.cursor, stream.end))
            self.cursor += len(pieces[-1])
        return b"".join(pieces)

    def _next(self) -> bytes | bytearray:
        if not self._own and self._backlog is not None:
            self._own = self._backlog.next()
            if not self._own:
                self._backlog = None
        if self._own:
            return self._own
        if self.channel is None or self.cursor == self.channel.stream.end:
            return b""
        return self.channel.stream.read(self.cursor, WRITE_BYTES_MAX)

    def _advance(self, taken: int, handed_ns: int) -> None:
        ends_frame = 0 < self._frame_bytes <= taken
        if self._own:
            self._own = _without_front(self._own, taken)
            self._frame_bytes = max(0, self._frame_bytes - taken)
        elif self.channel is not None:
            self.cursor += taken
        # A frame is complete even when a ping after it still waits.
        if self.channel is not None and (ends_frame or (not self._own and self._backlog is None)):
            self.channel.wrote(self, handed_ns)


class _ReplayBacklog:
    """The replay of a client that was away, produced piece by piece, and what was written after it."""

    __slots__ = ("_pieces", "after")

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self.after = bytearray()

    def next(self) -> bytes:
        """Return the next piece; empty at the end."""
        piece = next(self._pieces, b"")
        if not piece:
            piece, self.after = bytes(self.after), bytearray()
        return piece


def _without_front(data: bytes | bytearray, count: int) -> bytes | bytearray:
    if count == len(data):
        return b""
    if isinstance(data, bytearray):
        del data[:count]  # Moves the start of the buffer and copies nothing.
        return data
    return bytearray(memoryview(data)[count:]) if count else data
