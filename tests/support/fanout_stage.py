"""Test connections and framings for the real fan-out, on socket pairs without server or transport."""

from __future__ import annotations

import socket
from collections.abc import Sequence

from app.core.notification import Notification
from app.server.broker.base import Filter, Replay
from app.server.broker.memory import MemoryBroker
from app.server.fanout.closed import CLOSED_BY_CLIENT, CLOSED_LOST, Closed
from app.server.fanout.connection import DetachedConnection
from app.server.fanout.fanout import Fanout
from app.server.fanout.flusher import Flusher
from app.server.fanout.framing import Connection
from app.server.wsgi.loop import Loop
from app.server.wsgi.takeover import RawSocket
from tests.support.patience import PATIENCE_S

END = b"!"
"""End of each frame; no notification of these tests contains it."""

BY_SSE = Filter("sse")


class Framing:
    """Makes distinguishable frames, and records which connections were passed to it on the stock path."""

    def __init__(self) -> None:
        self.framed: list[tuple[int, str]] = []
        """Offset and encoding of every frame that was made."""
        self.handed: list[tuple[int, list[Connection]]] = []
        self.noticed: list[tuple[str, str, list[Connection]]] = []

    def frame(self, notification: Notification, encoding: str) -> bytes:
        self.framed.append((notification.offset, encoding))
        return f"{encoding}{notification.body}".encode() + END

    def send(self, notification: Notification, connections: Sequence[Connection]) -> None:
        self.handed.append((notification.offset, list(connections)))

    def frame_notice(self, event: str, json: str, encoding: str) -> bytes:
        return f"{event}{json}".encode() + END

    def send_notice(self, event: str, json: str, connections: Sequence[Connection]) -> None:
        self.noticed.append((event, json, list(connections)))


class Stock:
    """A connection on the stock path."""

    detached = None
    encoding = ""

    def __init__(self, wanted: Filter) -> None:
        self.wanted = wanted
        self.replays: list[Replay] = []
        self.ended: list[str] = []

    def start(self, replay: Replay) -> None:
        self.replays.append(replay)

    def end(self, reason: Closed) -> None:
        self.ended.append(reason)


class Direct(DetachedConnection):
    """A connection on the direct path, with its peer."""

    __slots__ = ("_fanout", "_read", "encoding", "leaves_at_start", "peer", "reasons", "replays", "wanted")

    encoding: str
    wanted: Filter

    def __init__(
        self, fanout: Fanout, wanted: Filter, encoding: str = "", *, leaves_at_start: bool = False
    ) -> None:
        ours, self.peer = socket.socketpair()
        self.peer.settimeout(PATIENCE_S)
        ours.setblocking(False)
        super().__init__(fanout.flusher, RawSocket(fileno=ours.detach()))
        self._fanout = fanout
        self._read = b""
        self.wanted = wanted
        self.encoding = encoding
        self.leaves_at_start = leaves_at_start
        self.replays: list[Replay] = []
        self.reasons: list[str] = []
        self.open()

    def start(self, replay: Replay) -> None:
        self.replays.append(replay)
        if self.leaves_at_start:
            self.drop(CLOSED_BY_CLIENT)

    def end(self, reason: Closed) -> None:
        self.finish(b"bye" + END, reason)

    def on_data(self, data: bytes) -> None:
        """Ignore data: peers only listen here."""

    def on_closed(self, reason: Closed) -> None:
        self.reasons.append(reason)
        self._fanout.unsubscribe(self, reason)

    def next_frame(self) -> str:
        """Wait for the next frame at the peer and return it."""
        while END not in self._read:
            data = self.peer.recv(4096)
            assert data, "the connection ended before a frame came"
            self._read += data
        frame, _, self._read = self._read.partition(END)
        return frame.decode()


class Stage:
    """A broker and a fan-out with a framing for each transport."""

    def __init__(self) -> None:
        self.broker = MemoryBroker(count_max=1000, bytes_max=10**9, age_max_us=10**12)
        self.fanout = Fanout(self.broker, Flusher(Loop(), frames_max=1000, bytes_max=10**6))
        self.sse, self.socketio = Framing(), Framing()
        self.fanout.register("sse", self.sse)
        self.fanout.register("socketio", self.socketio)
        self._made: list[Direct] = []

    def direct(self, wanted: Filter = BY_SSE, encoding: str = "", **more: bool) -> Direct:
        """Subscribe a connection of the direct path."""
        made = Direct(self.fanout, wanted, encoding, **more)
        self._made.append(made)
        self.fanout.subscribe(made, None)
        return made

    def stock(self, wanted: Filter = BY_SSE) -> Stock:
        """Subscribe a connection of the stock path."""
        made = Stock(wanted)
        self.fanout.subscribe(made, None)
        return made

    def close(self) -> None:
        """Close every connection on both sides."""
        for each in self._made:
            each.drop(CLOSED_LOST)
            each.peer.close()
