"""A WebSocket's attempt to become a session's transport: of a new session, or in place of polling (an upgrade).

    NEW      begin() -> open packet -> OPEN
    PROBING  "2probe" -> "3probe", the poll ends -> "5" -> what waits, then everything -> OPEN
             anything else, or nothing for a while -> the WebSocket ends, polling goes on
    REFUSED  begin() -> the WebSocket ends (the session has another one already)

It never blocks: stock code feeds it from a blocking loop, the event loop message by message.
"""

from __future__ import annotations

import logging
from enum import Enum

from engineio import packet
from engineio.packet import Packet

from app.core.errors import MalformedFrame
from app.server.transports.socket_io.engine.outgoing import PacketChannel
from app.server.transports.socket_io.engine.packets import decode
from app.server.transports.socket_io.engine.session import EngineSession
from app.server.wsgi import connection_limiter

logger = logging.getLogger("siar.engineio")

PROBE = "probe"


class AttemptState(Enum):
    """State of the attempt."""

    NEW = "new"
    PROBING = "probing"
    REFUSED = "refused"
    OPEN = "open"
    ENDED = "ended"


class WebSocketAttempt:
    """One WebSocket's attempt: first `begin`, then `receive` per message, finally `lost`, from one thread at a time.

    None of them raises for what a peer does: a peer that violates the protocol is closed through its channel.
    """

    __slots__ = ("_channel", "is_probed", "session", "state")

    def __init__(self, session: EngineSession, state: AttemptState) -> None:
        self.session = session
        self.state = state
        self.is_probed = False
        """True if the client has shown that this WebSocket works."""
        self._channel: PacketChannel | None = None
        """The WebSocket until it is open; then only the session refers to it, which avoids a reference cycle."""

    def begin(self, channel: PacketChannel) -> None:
        """Start, after the WebSocket handshake has been answered; `channel` writes to the WebSocket."""
        if self.state is AttemptState.NEW:
            self.state = AttemptState.OPEN
            self.session.attach(channel, self.session.server.opening(self.session, upgrades=[]))
            return
        self._channel = channel
        if self.state is AttemptState.PROBING:
            self.session.server.timer.on_upgrade(self)
        else:
            # "A client MUST NOT open more than one WebSocket connection per session. Should it happen, the server
            # MUST close the WebSocket connection." [10]
            self._end()

    def receive(self, data: str | bytes) -> None:
        """Process one whole message of the client, text or bytes."""
        try:
            if self.state is AttemptState.OPEN:
                self.session.receive(data)
            elif self.state is AttemptState.PROBING:
                self._probe(decode(data))
        except MalformedFrame as error:
            logger.info("A WebSocket peer broke the protocol (%s); closed.", error)
            connection_limiter.penalise(self.session.address)
            if self.state is AttemptState.OPEN:
                # An unknown packet type would escape the library's handler, and eventlet would write an HTTP error into
                # the open WebSocket [7].
                self.session.close(reason=self.session.server.reason.TRANSPORT_ERROR)
            else:
                self._end()

    def lost(self) -> None:
        """End the attempt, after the connection has ended or failed to open."""
        was, self.state = self.state, AttemptState.ENDED
        if was in (AttemptState.NEW, AttemptState.OPEN):
            self.session.close(abort=True, reason=self.session.server.reason.TRANSPORT_CLOSE)
        elif was is AttemptState.PROBING:
            self._detach_from_session()
        self._channel = None

    def expire(self) -> None:
        """End an upgrade whose time is over."""
        if self.state is AttemptState.PROBING:
            self._end()

    def abandon(self) -> None:
        """End an upgrade whose session has ended."""
        if self.state is AttemptState.PROBING:
            self._end()

    def _probe(self, pkt: Packet) -> None:
        assert self._channel is not None
        self.session.count_packet()
        if pkt.packet_type == packet.PING and pkt.data == PROBE:
            self.is_probed = True
            self._channel.send_packet(Packet(packet.PONG, PROBE))
            self.session.on_probed()
        elif pkt.packet_type == packet.UPGRADE and self.is_probed and not self.session.closing:
            # The library would queue one more noop here, to be sent over the new WebSocket [10].
            self.state = AttemptState.OPEN
            channel, self._channel = self._channel, None
            self.session.attach(channel)
        else:
            raise MalformedFrame("An upgrade goes 2probe, 5.")

    def _end(self) -> None:
        self.state = AttemptState.ENDED
        self._detach_from_session()
        if self._channel is not None:
            self._channel.close()

    def _detach_from_session(self) -> None:
        if self.session.upgrade_attempt is self:
            self.session.upgrade_attempt = None
