"""A WebSocket's way into a session: a new one, an upgrade from polling, or the refusal of a second one.

    NEW      begin() -> open packet -> OPEN
    PROBING  "2probe" -> "3probe", the poll ends -> "5" -> what waits, then everything -> OPEN
             anything else, or nothing for a while -> the WebSocket ends, polling goes on
    REFUSED  begin() -> the WebSocket ends

It never waits: stock code feeds it from a blocking loop, a readiness loop message by message.
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


class UpgradeState(Enum):
    """How far it has come."""

    NEW = "new"
    PROBING = "probing"
    REFUSED = "refused"
    OPEN = "open"
    ENDED = "ended"


class WebSocketEntry:
    """One WebSocket on its way. `begin` first, `receive` for each message, `lost` at the end, from one thread at a time.

    None of them raises for what a peer does: who breaks the protocol is closed, and its channel told to.
    """

    __slots__ = ("_channel", "is_probed", "session", "state")

    def __init__(self, session: EngineSession, state: UpgradeState) -> None:
        self.session = session
        self.state = state
        self.is_probed = False
        """Whether the client has shown that this WebSocket works."""
        self._channel: PacketChannel | None = None
        """While it is on its way; an open session has it. One that both hold would be left to the collector of cycles."""

    def begin(self, channel: PacketChannel) -> None:
        """The WebSocket handshake has been answered; `channel` writes to it."""
        if self.state is UpgradeState.NEW:
            self.state = UpgradeState.OPEN
            self.session.attach(channel, self.session.server.opening(self.session, upgrades=[]))
            return
        self._channel = channel
        if self.state is UpgradeState.PROBING:
            self.session.server.timer.on_upgrade(self)
        else:
            # "A client MUST NOT open more than one WebSocket connection per session. Should it happen, the server
            # MUST close the WebSocket connection." [10]
            self._end()

    def receive(self, data: str | bytes) -> None:
        """One whole message of the client, text or bytes."""
        try:
            if self.state is UpgradeState.OPEN:
                self.session.receive(data)
            elif self.state is UpgradeState.PROBING:
                self._probe(decode(data))
        except MalformedFrame as error:
            logger.info("A WebSocket peer broke the protocol (%s); closed.", error)
            connection_limiter.penalise(self.session.address)
            if self.state is UpgradeState.OPEN:
                # An unknown packet type would escape the library's handler, upon which eventlet writes an HTTP error
                # into the open WebSocket [7].
                self.session.close(reason=self.session.server.reason.TRANSPORT_ERROR)
            else:
                self._end()

    def lost(self) -> None:
        """The connection has ended, or never came to be."""
        was, self.state = self.state, UpgradeState.ENDED
        if was in (UpgradeState.NEW, UpgradeState.OPEN):
            self.session.close(abort=True, reason=self.session.server.reason.TRANSPORT_CLOSE)
        elif was is UpgradeState.PROBING:
            self._leave_the_session()
        self._channel = None

    def expire(self) -> None:
        """The time for an upgrade is over."""
        if self.state is UpgradeState.PROBING:
            self._end()

    def abandon(self) -> None:
        """The session has ended, and with it the upgrade."""
        if self.state is UpgradeState.PROBING:
            self._end()

    def _probe(self, pkt: Packet) -> None:
        assert self._channel is not None
        self.session.count_packet()
        if pkt.packet_type == packet.PING and pkt.data == PROBE:
            self.is_probed = True
            self._channel.send_packet(Packet(packet.PONG, PROBE))
            self.session.on_probed()
        elif pkt.packet_type == packet.UPGRADE and self.is_probed and not self.session.closing:
            # The library would queue one more noop here, for the new WebSocket to send [10].
            self.state = UpgradeState.OPEN
            channel, self._channel = self._channel, None
            self.session.attach(channel)
        else:
            raise MalformedFrame("An upgrade goes 2probe, 5.")

    def _end(self) -> None:
        self.state = UpgradeState.ENDED
        self._leave_the_session()
        if self._channel is not None:
            self._channel.close()

    def _leave_the_session(self) -> None:
        if self.session.entry is self:
            self.session.entry = None
