"""A client's subscription, written through its session or directly to its WebSocket."""

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
from app.server.transports.socket_io.engine.attempt import WebSocketAttempt
from app.server.transports.socket_io.engine.direct_websocket import GOING_AWAY, DetachedWebSocket
from app.server.transports.socket_io.frames import FORM_PLAIN, FORM_RECOVERING, event_frame, replay_frames
from app.server.wsgi.takeover import Taken


class Sink(Protocol):
    """Receiver of a connection's packets and of the news of its end: the transport."""

    def emit(self, event: str, arguments: tuple[str, ...], sids: list[str]) -> None:
        """Queue an event for the clients with these ids."""
        ...

    def replay(self, sid: str, notifications: Sequence[Notification], *, recovers: bool) -> None:
        """Queue the notifications that a client missed."""
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
    """A client's subscription, written packet by packet through its Engine.IO session (stock path)."""

    __slots__ = ("_transport", "channel", "pid", "recovers", "replayed_count", "sid", "since", "wanted")

    detached = None

    def __init__(self, transport: Sink, sid: str, request: ConnectRequest) -> None:
        self._transport = transport
        self.sid = sid
        self.wanted = request.wanted
        self.since = request.since
        """Position after which the client resumes; for a new client the position that its CONNECT carried."""
        self.recovers = request.recover
        """True if events carry their id as a second argument, as the protocol's connection state recovery requires."""
        self.pid = request.pid
        """Name of the session to recover, if the client sent one."""
        self.replayed_count = 0
        """Events queued at the start; they do not make the client a slow consumer."""
        self.channel: SocketIoChannel | None = None
        """The WebSocket that is subscribed in this connection's place."""

    @property
    def form(self) -> str:
        """Return the framing of this client's notifications."""
        return FORM_RECOVERING if self.recovers else FORM_PLAIN

    @property
    def encoding(self) -> str:
        """Return that framing, with the compression of the library's WebSocket."""
        return self.form + (DEFLATED if self._transport.is_deflated(self.sid) else "")

    def start(self, replay: Replay) -> None:
        """Send the gap if there is one, then the replay. CONNECT has been sent before."""
        if replay.gap is not None:
            self._emit(EVENT_GAP, EncodedJSON(encode_json(replay.gap.wire())), str(replay.gap.position))
        self._transport.replay(self.sid, replay.notifications, recovers=self.recovers)
        self.replayed_count = len(replay.notifications) + 1

    def _emit(self, event: str, data: EncodedJSON, id: str) -> None:
        self._transport.emit(event, (data, id) if self.recovers else (data,), [self.sid])

    def end(self, reason: Closed) -> None:
        """Close the connection; a slow consumer is cut off at once."""
        self._transport.end(self.sid, reason)


class SocketIoChannel(DetachedWebSocket):
    """A detached WebSocket: the session's packet channel, to which the flusher writes directly."""

    __slots__ = ("_transport", "subscription")

    def __init__(self, transport: Sink, flusher: Flusher, taken: Taken, attempt: WebSocketAttempt) -> None:
        super().__init__(
            flusher, taken, attempt, message_bytes_max=attempt.session.server.limits.packet_bytes_max
        )
        self._transport = transport
        self.subscription: SocketIoConnection | None = None

    @property
    def wanted(self) -> Filter:
        """Return the filter of its subscription."""
        assert self.subscription is not None
        return self.subscription.wanted

    @property
    def encoding(self) -> str:
        """Return the framing of this client's notifications, compression included."""
        assert self.subscription is not None
        return self.subscription.form + (DEFLATED if self.is_deflated else "")

    def start(self, replay: Replay) -> None:
        """Send the gap if there is one, then the replay. CONNECT has been sent before."""
        assert self.subscription is not None
        # Uncompressed, which the protocol allows: compressing per client costs too much.
        form = self.subscription.form
        gap = b""
        if replay.gap is not None:
            gap = event_frame(EVENT_GAP, encode_json(replay.gap.wire()), str(replay.gap.position), form=form)
        self.write(gap, replay=replay_frames(replay.notifications, form) if replay.notifications else None)

    def end(self, reason: Closed) -> None:
        """Close the connection; a slow consumer is cut off at once."""
        if reason == CLOSED_SLOW:
            self.drop(reason)
        else:
            self.finish(GOING_AWAY, reason)

    def on_ended(self, reason: Closed) -> None:
        """Unsubscribe the WebSocket, whichever side ended it; the session learns of it afterwards."""
        if self.subscription is not None:
            self._transport.left(self, reason)

    def on_upgraded(self) -> None:
        """Move the polling client's subscription to this WebSocket."""
        self._transport.upgraded(self)
