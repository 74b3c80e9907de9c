"""A connection that was taken over: its socket, what waits to be written to it, and who is told what it reads.

What waits is, in this order:

    _own       bytes for it alone, of which the kernel may have taken a part
    _later     more for it alone, made piece by piece when there is room (what a client missed), and what came behind
    stream     what everyone gets, from `cursor` on

No thread, no queue: an idle outlet is a socket, a number and a few references.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
from collections.abc import Iterator
from typing import Protocol

from app import clock
from app.server.fanout.closed import CLOSED_BY_CLIENT, CLOSED_LOST, CLOSED_SLOW, Closed
from app.server.fanout.replay_backlog import ReplayBacklog
from app.server.fanout.stream import Stream
from app.server.wsgi import epoll
from app.server.wsgi.loop import Loop
from app.server.wsgi.takeover import RawSocket

logger = logging.getLogger("siar.outlet")

READ_BYTES = 1024
"""Of a peer at a time: the tiniest frames that fit take about a turn of the loop."""

WRITE_BYTES_MAX = 131_072
"""Of one call: about what a modest send buffer takes at once."""

PUSH_US = 2_000
"""Of writing to one peer that takes it as fast as it is written; the loop goes on with it when others have had their turn."""

GOODBYE_US = 2_000_000
"""How long a peer may take to answer our end with its own."""


class JoinedChannel(Protocol):
    """What a connection needs of those it shares a stream with: `Audience`."""

    blocked: set[DetachedConnection]

    @property
    def stream(self) -> Stream:
        """What all of them get."""
        ...

    def add(self, outlet: DetachedConnection) -> None:
        """Begin to read here."""
        ...

    def remove(self, outlet: DetachedConnection) -> None:
        """Read here no more."""
        ...

    def catch_up(self) -> None:
        """Let each connection know by itself where it stands."""
        ...

    def wrote(self, outlet: DetachedConnection, handed_ns: int) -> None:
        """Note a write that the kernel has taken."""
        ...


class ConnectionHost(Protocol):
    """What a connection needs of who writes to all of them: `Broadcaster`."""

    bytes_max: int
    ending: set[DetachedConnection]

    @property
    def loop(self) -> Loop:
        """The readiness loop."""
        ...

    @property
    def lock(self) -> threading.RLock:
        """The lock over every connection."""
        ...


class WriteState:
    """What a round reads of each connection, side by side: between two rounds all of it leaves the processor's caches."""

    __slots__ = ("audience", "is_blocked", "sock", "stands_at")


class DetachedConnection(WriteState):
    """A detached connection. Its methods may be called from any thread.

    1. Bytes leave in the order described above and never in the middle of a frame of the stream.
    2. `on_closed` is called once, whoever ended the connection: when its end begins, not when the last byte has gone.
       Neither it nor `on_data` may wait.
    """

    __slots__ = (
        "_ending", "_frame_bytes", "_is_deaf", "_later", "_own", "broadcaster", "fd",
    )  # fmt: skip

    def __init__(self, broadcaster: ConnectionHost, sock: RawSocket) -> None:
        self.broadcaster = broadcaster
        self.sock: RawSocket | None = sock
        """`None` once it has ended."""
        self.fd = sock.fileno()
        self.audience: JoinedChannel | None = None
        """With whom it shares a stream."""
        self.stands_at = 0
        """Where it stands in that stream, unless its audience knows better (cursor_runs.py): ask `cursor`."""
        self.is_blocked = False
        """Whether it waits for the kernel to take bytes again."""
        self._own: bytes | bytearray = b""
        """What waits is added to, and taken from the front of, a `bytearray`: thousands of packets may wait here one by
        one (engine_outgoing.py), and a copy of all for each of them would stop the server."""
        self._frame_bytes = 0
        """Of `_own`, at its front: the rest of a frame of the stream."""
        self._later: ReplayBacklog | None = None
        self._is_deaf = False
        """Whether what the peer writes stays in the kernel."""
        self._ending: Closed | None = None
        """Why it ends as soon as nothing waits any more."""

    @property
    def cursor(self) -> int:
        """Where it stands in its stream."""
        if self.audience is not None:
            self.audience.catch_up()
        return self.stands_at

    @cursor.setter
    def cursor(self, place: int) -> None:
        if self.audience is not None:
            self.audience.catch_up()
        self.stands_at = place

    def on_data(self, data: bytes) -> None:
        """The peer wrote `data`."""
        raise NotImplementedError

    def on_closed(self, reason: Closed) -> None:
        """The connection ends."""
        raise NotImplementedError

    def open(self) -> None:
        """Begin to listen to the peer; before anything is written."""
        assert self.sock is not None
        self.broadcaster.loop.watch(self.fd, self)

    def on_events(self, events: int) -> None:
        """The loop saw something. What `recv` says counts: an event may be older than a descriptor's owner."""
        with self.broadcaster.lock:
            if events & epoll.OUT and self.sock is not None:
                self._push()
            if events & ~epoll.OUT and self.sock is not None:
                self._receive(self.sock)

    def listen(self, *, wanted: bool) -> None:
        """Whether to be told what the peer writes; its end is told in any case."""
        with self.broadcaster.lock:
            if self.sock is not None and self._is_deaf is wanted:
                self._is_deaf = not wanted
                self.broadcaster.loop.want(self.fd, read=wanted, write=self.is_blocked)

    def write(self, data: bytes, later: Iterator[bytes] | None = None) -> None:
        """Bytes for this connection alone, ahead of what it has not begun to read of the stream."""
        with self.broadcaster.lock:
            if not self.is_open:
                return
            self._finish_frame()
            self._add(data)
            if later is not None:
                assert self._later is None
                self._later = ReplayBacklog(later)
            if not self.is_blocked:
                self._push()
            else:
                self.cut_if_slow()

    def write_in_order(self, data: bytes) -> None:
        """Bytes for this connection alone, behind everything that its stream has so far."""
        with self.broadcaster.lock:
            rest = self._rest_of_the_stream() + data
            if self._later is not None:  # It still reads what it missed, and this is to come behind that.
                self._later.behind += rest
                self.cut_if_slow()
            else:
                self.write(rest)

    def join(self, audience: JoinedChannel) -> None:
        """From here on get what `audience` gets."""
        with self.broadcaster.lock:
            if self.is_open:
                self.audience = audience
                self.cursor = audience.stream.end
                audience.add(self)

    def leave(self) -> None:
        """Get nothing of the stream any more, nor what is left of what was missed; a goodbye's is."""
        with self.broadcaster.lock:
            if self._ending is None:
                self._later = None
                if self.sock is not None:
                    self._finish_frame()  # It may stay, as a session that left its namespace does.
            if self.audience is not None:
                self.audience.remove(self)
                self.audience = None

    @property
    def is_open(self) -> bool:
        """Whether it may still be written to: there is a socket, and no goodbye has been said."""
        return self.sock is not None and self._ending is None

    @property
    def waiting_bytes(self) -> int:
        """What the kernel has not taken yet; what was missed counts when its turn comes."""
        behind = self.audience.stream.end - self.cursor if self.audience is not None else 0
        return len(self._own) + behind + (len(self._later.behind) if self._later is not None else 0)

    def block(self) -> None:
        """The kernel takes no more: have the loop say when it does."""
        if not self.is_blocked and self.sock is not None:
            self.is_blocked = True
            if self.audience is not None:
                self.audience.blocked.add(self)
            self.broadcaster.loop.want(self.fd, read=not self._is_deaf, write=True)

    def cut_if_slow(self) -> None:
        """The stream bounds what it keeps for a blocked reader; what is for this one alone is bounded here."""
        if self.waiting_bytes > self.broadcaster.bytes_max:
            self.drop(CLOSED_SLOW)

    def drop(self, reason: Closed) -> None:
        """End the connection now; what waits is dropped, history has it."""
        with self.broadcaster.lock:
            sock, self.sock = self.sock, None
            if sock is None:
                return
            self.broadcaster.loop.forget(self.fd)
            self.broadcaster.ending.discard(self)
            self._own, self._later = b"", None
            sock.close()
            if self._ending is None:
                self._tell_closed(reason)
            self.leave()

    def finish(self, goodbye: bytes, reason: Closed) -> None:
        """Write what waits and `goodbye`, then end the connection; a peer that does not take it is cut off."""
        with self.broadcaster.lock:
            if not self.is_open:
                return
            self.write_in_order(goodbye)
            if self.sock is None:  # That write has found it gone.
                return
            self._ending = reason
            self.broadcaster.ending.add(self)
            self._tell_closed(reason)
            self.leave()
            if not self.is_blocked:
                self._say_goodbye()
            loop = self.broadcaster.loop
            loop.call_once(GOODBYE_US, lambda: self.drop(reason))

    def _tell_closed(self, reason: Closed) -> None:
        if self.audience is not None:  # Whoever is told may publish, and it is not to be written to then.
            self.audience.remove(self)
        try:
            self.on_closed(reason)
        except Exception:  # Its bug is not that of who publishes, nor of those who are written to behind it.
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
        """Write what waits, as far as the kernel takes it and time allows; the loop calls again for the rest."""
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
            self._took(taken, handed_ns)
            if taken < len(data) or clock.monotonic_us() >= until_us:
                self.block()
                return
        self._unblock()
        if self._ending is not None:
            self._say_goodbye()

    def _say_goodbye(self) -> None:
        """Our end first: closing with unread bytes would reset the connection and lose what is on its way."""
        self.broadcaster.ending.discard(self)
        if self.sock is not None:
            with contextlib.suppress(OSError):
                self.sock.shutdown(socket.SHUT_WR)

    def _unblock(self) -> None:
        if self.is_blocked and self.sock is not None:
            self.is_blocked = False
            if self.audience is not None:
                self.audience.blocked.discard(self)
            self.broadcaster.loop.want(self.fd, read=not self._is_deaf, write=False)

    def _add(self, data: bytes) -> None:
        if not self._own:
            self._own = data
            return
        if not isinstance(self._own, bytearray):
            self._own = bytearray(self._own)
        self._own += data

    def _finish_frame(self) -> None:
        """Take the rest of a frame that the kernel has cut: nothing may come between its halves."""
        if self.audience is None or self._own or self._later is not None:
            return
        end = self.audience.stream.frame_end(self.cursor)
        if end != self.cursor:
            self._own = self.audience.stream.read(self.cursor, 1)
            self._frame_bytes = len(self._own)
            self.cursor = end

    def _rest_of_the_stream(self) -> bytes:
        """What it has not begun to read, which may be nothing; from now on it counts as read."""
        if self.audience is None or self.cursor == self.audience.stream.end:
            return b""
        stream, pieces = self.audience.stream, []
        while self.cursor != stream.end:  # A read may give less than was asked for.
            pieces.append(stream.read(self.cursor, stream.end))
            self.cursor += len(pieces[-1])
        return b"".join(pieces)

    def _next(self) -> bytes | bytearray:
        if not self._own and self._later is not None:
            self._own = self._later.next()
            if not self._own:
                self._later = None
        if self._own:
            return self._own
        if self.audience is None or self.cursor == self.audience.stream.end:
            return b""
        return self.audience.stream.read(self.cursor, WRITE_BYTES_MAX)

    def _took(self, taken: int, handed_ns: int) -> None:
        ends_frame = 0 < self._frame_bytes <= taken
        if self._own:
            self._own = _without_front(self._own, taken)
            self._frame_bytes = max(0, self._frame_bytes - taken)
        elif self.audience is not None:
            self.cursor += taken
        # A frame is with the peer whole, though a ping behind it still waits.
        if self.audience is not None and (ends_frame or (not self._own and self._later is None)):
            self.audience.wrote(self, handed_ns)


def _without_front(data: bytes | bytearray, count: int) -> bytes | bytearray:
    if count == len(data):
        return b""
    if isinstance(data, bytearray):
        del data[:count]  # Which moves where it begins, and copies nothing.
        return data
    return bytearray(memoryview(data)[count:]) if count else data
