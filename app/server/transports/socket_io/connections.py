"""One client's subscription, and the WebSocket that may stand in its place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from app.core.notification import EncodedJSON, Notification, encode_json
from app.core.protocol.deflate import DEFLATED
from app.core.wire import EVENT_GAP
from app.server.broker.base import Filter, Replay
from app.server.fanout.closed import CLOSED_SLOW, Closed
from app.server.fanout.flusher import Flusher
from app.server.transports.socket_io.connect_request import ConnectRequest
from app.server.transports.socket_io.engine.direct_websocket import GOING_AWAY, WebSocketOutlet
from app.server.transports.socket_io.engine.entry import WebSocketEntry
from app.server.transports.socket_io.frames import FORM_PLAIN, FORM_RECOVERING, event_frame, frames_of
from app.server.wsgi.takeover import Taken

REPLAYED_PER_PACKET = 64
"""Notifications of history that count as one packet of the client. To find ten thousand takes 2.6 ms and to frame them ten
times that (measured), so who leaves the namespace and joins it again with an old position, over and over, is held to a few
hundredths of a core by the incoming rate."""


class Sink(Protocol):
    """Where a connection's packets go, and what is to know of its end: the transport."""

    def emit(self, event: str, arguments: tuple[str, ...], sids: list[str]) -> None:
        """Queue an event for clients."""
        ...

    def replay(self, sid: str, notifications: Sequence[Notification], *, recovers: bool) -> None:
        """Queue what a client missed."""
        ...

    def is_deflated(self, sid: str) -> bool:
        """Return whether the library's WebSocket compresses for a client."""
        ...

    def end(self, sid: str, reason: Closed) -> None:
        """Close a client's connection without waiting for it."""
        ...

    def left(self, channel: SocketIoChannel, reason: Closed) -> None:
        """Unsubscribe a WebSocket that has ended."""
        ...

    def upgraded(self, channel: SocketIoChannel) -> None:
        """Move a polling client's subscription to its WebSocket."""
        ...


class SocketIoConnection:
    """One client's subscription; what it gets goes through its session, packet by packet (stock)."""

    __slots__ = ("_transport", "channel", "pid", "recovers", "replayed_count", "sid", "since", "wanted")

    def __init__(self, transport: Sink, sid: str, asked: ConnectRequest) -> None:
        self._transport = transport
        self.sid = sid
        self.wanted = asked.wanted
        self.since = asked.since
        """Where the client left off; for a new one the position that its CONNECT told."""
        self.recovers = asked.recover
        """Whether events carry their id as a second argument, as the protocol's own recovery has it."""
        self.pid = asked.pid
        """The session to recover, if that is possible."""
        self.replayed_count = 0
        """Events queued at the start, which are no sign of a slow client."""
        self.channel: SocketIoChannel | None = None
        """The WebSocket that is subscribed in its place."""

    @property
    def is_deflated(self) -> bool:
        """Whether the library's WebSocket compresses for it."""
        return self._transport.is_deflated(self.sid)

    @property
    def form(self) -> str:
        """Which framing its notifications have."""
        return FORM_RECOVERING if self.recovers else FORM_PLAIN

    def start(self, replay: Replay) -> None:
        """The gap if there is one, then what was missed; CONNECT has been sent."""
        if replay.gap is not None:
            self._emit(EVENT_GAP, EncodedJSON(encode_json(replay.gap.wire())), str(replay.gap.position))
        self._transport.replay(self.sid, replay.notifications, recovers=self.recovers)
        self.replayed_count = len(replay.notifications) + 1

    def _emit(self, event: str, data: EncodedJSON, id: str) -> None:
        self._transport.emit(event, (data, id) if self.recovers else (data,), [self.sid])

    def end(self, reason: Closed) -> None:
        """Say goodbye, or cut off a client that does not read."""
        self._transport.end(self.sid, reason)


class SocketIoChannel(WebSocketOutlet):
    """A WebSocket of ours: the session's channel, and what the fan-out writes to."""

    __slots__ = ("_transport", "subscription")

    def __init__(self, transport: Sink, flusher: Flusher, taken: Taken, entry: WebSocketEntry) -> None:
        super().__init__(
            flusher, taken, entry, message_bytes_max=entry.session.server.limits.packet_bytes_max
        )
        self._transport = transport
        self.subscription: SocketIoConnection | None = None

    @property
    def wanted(self) -> Filter:
        """What its subscription wants."""
        assert self.subscription is not None
        return self.subscription.wanted

    @property
    def form(self) -> str:
        """Which framing its notifications have."""
        assert self.subscription is not None
        return self.subscription.form + (DEFLATED if self.is_deflated else "")

    def start(self, replay: Replay) -> None:
        """The gap if there is one, then what was missed; CONNECT has been sent."""
        assert self.subscription is not None
        self.session.charge(len(replay.notifications) // REPLAYED_PER_PACKET)
        form = self.subscription.form  # Not compressed, which costs for each: a message may be, and need not.
        gap = b""
        if replay.gap is not None:
            gap = event_frame(EVENT_GAP, encode_json(replay.gap.wire()), str(replay.gap.position), form=form)
        self.write(gap, replay=frames_of(replay.notifications, form) if replay.notifications else None)

    def end(self, reason: Closed) -> None:
        """Say goodbye, or cut off a client that does not read."""
        if reason == CLOSED_SLOW:
            self.drop(reason)
        else:
            self.finish(GOING_AWAY, reason)

    def on_left(self, reason: Closed) -> None:
        """Whoever ended it; the session is told afterwards."""
        if self.subscription is not None:
            self._transport.left(self, reason)

    def on_upgraded(self) -> None:
        """It has taken the place of polling."""
        self._transport.upgraded(self)
