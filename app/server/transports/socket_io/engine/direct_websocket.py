"""A WebSocket on a connection that was taken over: frames in from the loop, frames out to the socket, no thread.

    loop -> bytes -> FrameDecoder -> pong            the session, at once
                                  -> anything else   an inbox, worked off by a thread that lives as long as it is full

Handlers are the application's and may wait; pongs, which are nearly all that an idle client sends, cost no thread.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from engineio.packet import Packet

from app.core.errors import MalformedFrame
from app.core.protocol.deflate import NO_CONTEXT_TAKEOVER, is_offered
from app.core.protocol.websocket import (
    NOT_ALLOWED,
    ClientFrameDecoder,
    Message,
    Opcode,
    encode_close,
    encode_frame,
)
from app.server.fanout.closed import CLOSED_BY_CLIENT, CLOSED_BY_SERVER, CLOSED_PROTOCOL, CLOSED_SLOW, Closed
from app.server.fanout.connection import DetachedConnection
from app.server.transports.socket_io.engine import handshake
from app.server.transports.socket_io.engine.entry import UpgradeState, WebSocketEntry
from app.server.transports.socket_io.engine.websocket import ServeWebSocket
from app.server.wsgi import connection_limiter
from app.server.wsgi.detached import DETACHED
from app.server.wsgi.spawn import spawn
from app.server.wsgi.takeover import SocketOptions, Taken, can_take_over, take_over

if TYPE_CHECKING:
    from app.server.fanout.flusher import Flusher
    from app.server.transports.socket_io.engine.server import Compresses, Environ, StartResponse
    from app.server.transports.socket_io.engine.session import EngineSession

logger = logging.getLogger("siar.websocket")

INBOX_MAX = 64
"""Messages that wait for their handlers; from there on the client's bytes wait in the kernel, and then in the client."""

GOING_AWAY = encode_close(1001)
NORMAL = encode_close(1000)
TOO_MUCH = encode_close(NOT_ALLOWED)

PONG = b"3"


class WebSocketOutlet(DetachedConnection):
    """The channel of a session (engine_session.Channel) that is also a detached connection of the flusher."""

    __slots__ = ("_decoder", "_entry", "_inbox", "_is_gone", "is_deflated")

    def __init__(
        self, flusher: Flusher, taken: Taken, entry: WebSocketEntry, *, message_bytes_max: int
    ) -> None:
        super().__init__(flusher, taken.sock)
        self._entry = entry
        self._decoder = ClientFrameDecoder(message_bytes_max=message_bytes_max)
        self._inbox: deque[Message] | None = None
        """Messages for handlers; `None` while nobody works on them."""
        self._is_gone = False
        self.is_deflated = False
        """Whether messages may be compressed, both ways."""

    def deflate(self) -> None:
        """The handshake agreed on permessage-deflate."""
        self.is_deflated = self.session.is_deflated = self._decoder.inflates = True

    @property
    def session(self) -> EngineSession:
        """The session that it belongs to, or is tried for."""
        return self._entry.session

    # -- engine_session.Channel --

    @property
    def waiting_count(self) -> int:
        """Of packets: what waits here is counted in bytes, and bounded by the flusher."""
        return 0

    def send_packet(self, pkt: Packet) -> None:
        """One packet in one message, behind those before it."""
        encoded = pkt.encode()
        if isinstance(encoded, str):
            self.write(encode_frame(Opcode.TEXT, encoded.encode(), mask=None))
        else:
            self.write(encode_frame(Opcode.BINARY, bytes(encoded), mask=None))

    def close(self) -> None:
        """Send what waits, say goodbye, end the connection."""
        self.finish(NORMAL, CLOSED_BY_SERVER)

    def cut(self) -> None:
        """End the connection at once: its peer does not read."""
        self.drop(CLOSED_SLOW)

    # -- DetachedConnection --

    def on_data(self, data: bytes) -> None:
        """Bytes of the peer, cut anywhere."""
        try:
            messages = self._decoder.feed(data)
        except MalformedFrame as error:
            logger.info("A WebSocket peer broke the protocol (%s); closed.", error)
            connection_limiter.penalise(self.session.address)
            self.finish(encode_close(error.close_code), CLOSED_PROTOCOL)
            return
        pongs: list[bytes] = []
        try:
            if self._decoder.fragment_count:  # They cost as much as packets do, empty ones too.
                self.session.count_packet(self._decoder.fragment_count)
            for message in messages:
                self._take(message, pongs)
        except MalformedFrame as error:
            logger.info("A WebSocket peer sent too much (%s); closed.", error)
            connection_limiter.penalise(self.session.address)
            self.finish(TOO_MUCH, CLOSED_PROTOCOL)
            return
        if pongs:
            self.write(b"".join(pongs))

    def cut_if_slow(self) -> None:
        """What had waited while the client polled comes at once with its upgrade, which is no sign of slowness."""
        if self._entry.state is not UpgradeState.OPEN or self.session.channel is self:
            super().cut_if_slow()

    def on_closed(self, reason: Closed) -> None:
        """Tell the session, from a thread: its disconnect handler may wait."""
        self.on_left(reason)
        self._post(None)

    def on_left(self, reason: Closed) -> None:
        """For who inherits: the connection ends; called at once, in the flusher's lock."""

    def on_upgraded(self) -> None:
        """For who inherits: it has taken the place of polling."""

    def _take(self, message: Message, pongs: list[bytes]) -> None:
        """One message or control frame. Raises `MalformedFrame` when too many control frames come.

        What pings are answered with is added to `pongs`, to be one write: a flood of them must not cost a `send` each.
        """
        if message.opcode in (Opcode.PING, Opcode.PONG):
            self.session.count_packet()  # They cost as much as packets do, and nobody else would count them.
        if message.opcode is Opcode.PING:
            pongs.append(encode_frame(Opcode.PONG, message.payload, mask=None))
        elif message.opcode is Opcode.CLOSE:
            # Section 5.5.1: "it MUST send a Close frame in response".
            answer = encode_frame(Opcode.CLOSE, message.payload[:2], mask=None)
            self.finish(b"".join([*pongs, answer]), CLOSED_BY_CLIENT)
        elif message.payload == PONG and message.opcode is Opcode.TEXT and self._is_counted():
            self.session.server.timer.on_pong(self.session)
        elif message.opcode is not Opcode.PONG:
            self._post(message)

    def _is_counted(self) -> bool:
        """Whether a pong may be taken at once, even while handlers are busy with what came before it."""
        if self._entry.state is not UpgradeState.OPEN:
            return False
        try:
            self.session.count_packet()
        except MalformedFrame:
            return False  # Too many; whoever works on the inbox finds the same and ends the session.
        return True

    def _post(self, message: Message | None) -> None:
        """Into the inbox; `None` says that nothing comes any more."""
        if message is None:
            self._is_gone = True
            if self._inbox is not None:
                return  # Whoever works on it sees that when it is empty.
            self._inbox = deque()
            spawn(self._work)
            return
        if self._inbox is None:
            self._inbox = deque()
            spawn(self._work)
        self._inbox.append(message)
        if len(self._inbox) == INBOX_MAX:
            self.listen(wanted=False)

    def _work(self) -> None:
        """Hand the inbox to the session, message by message, then end."""
        while True:
            with self.flusher.lock:
                inbox = self._inbox
                assert inbox is not None
                if not inbox:
                    if not self._is_gone:
                        self._inbox = None
                        self.listen(wanted=True)
                        return
                    break
                message = inbox.popleft()
            was_probing = self._entry.state is UpgradeState.PROBING
            self._entry.receive(message.text if message.opcode is Opcode.TEXT else message.payload)
            if was_probing and self._entry.state is UpgradeState.OPEN:
                self.on_upgraded()
        self._entry.lost()


MakeChannel = Callable[["Taken", "WebSocketEntry"], WebSocketOutlet]


def direct_websocket(
    make_channel: MakeChannel, *, compresses: Compresses, options: SocketOptions, otherwise: ServeWebSocket
) -> ServeWebSocket:
    """How `EngineServer` serves a WebSocket request whose connection can be taken over; `otherwise` serves the rest."""

    def serve(entry: WebSocketEntry, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        if not can_take_over(environ):
            return otherwise(entry, environ, start_response)
        extensions = environ.get("HTTP_SEC_WEBSOCKET_EXTENSIONS", "")
        is_deflated = is_offered(extensions) and compresses(environ)
        answer = handshake.answer(environ, NO_CONTEXT_TAKEOVER if is_deflated else None)
        taken = take_over(environ, options)
        channel = make_channel(taken, entry)
        if is_deflated:
            channel.deflate()
        channel.open()
        channel.write(answer)
        entry.begin(channel)
        if taken.rest:
            with channel.flusher.lock:
                channel.on_data(taken.rest)
        return DETACHED

    return serve
