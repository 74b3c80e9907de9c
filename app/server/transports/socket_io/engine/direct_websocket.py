"""A WebSocket on a detached connection: the event loop reads frames, the flusher writes them, and no thread waits.

    loop -> bytes -> ClientFrameDecoder -> pong            handled at once
                                        -> anything else   an inbox, whose worker thread lives until it is empty

Handlers belong to the application and may block, so they run in the worker. Pongs are nearly all that an idle client
sends; they cost no thread.
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
from app.server.transports.socket_io.engine.attempt import AttemptState, WebSocketAttempt
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
"""Upper bound of messages waiting for their handlers. Beyond it reading stops (backpressure through TCP)."""

GOING_AWAY = encode_close(1001)
NORMAL = encode_close(1000)
TOO_MUCH = encode_close(NOT_ALLOWED)

PONG = b"3"


class DetachedWebSocket(DetachedConnection):
    """A session's packet channel (`outgoing.PacketChannel`) that is a detached connection of the flusher."""

    __slots__ = ("_attempt", "_decoder", "_inbox", "_is_gone", "_is_waiting", "is_deflated")

    def __init__(
        self, flusher: Flusher, taken: Taken, attempt: WebSocketAttempt, *, message_bytes_max: int
    ) -> None:
        super().__init__(flusher, taken.sock)
        self._attempt = attempt
        self._decoder = ClientFrameDecoder(message_bytes_max=message_bytes_max)
        self._inbox: deque[Message] | None = None
        """Messages waiting for handlers; `None` while no worker runs."""
        self._is_gone = False
        self._is_waiting = False
        """True while nothing is read, because its address has used its share of the time."""
        self.is_deflated = False
        """True if messages may be compressed, in both directions."""

    def deflate(self) -> None:
        """Enable compression, after the handshake agreed on permessage-deflate."""
        self.is_deflated = self.session.is_deflated = self._decoder.inflates = True

    @property
    def session(self) -> EngineSession:
        """Return the session that the WebSocket belongs to, or is being upgraded to."""
        return self._attempt.session

    # -- outgoing.PacketChannel --

    @property
    def waiting_count(self) -> int:
        """Return 0 packets: the connection counts its backlog in bytes, and the flusher bounds it."""
        return 0

    def send_packet(self, pkt: Packet) -> None:
        """Write one packet as one message, after those before it."""
        encoded = pkt.encode()
        if isinstance(encoded, str):
            self.write(encode_frame(Opcode.TEXT, encoded.encode(), mask=None))
        else:
            self.write(encode_frame(Opcode.BINARY, bytes(encoded), mask=None))

    def close(self) -> None:
        """Write what is queued and a close frame, then end the connection."""
        self.finish(NORMAL, CLOSED_BY_SERVER)

    def cut(self) -> None:
        """End the connection at once, because the client does not read."""
        self.drop(CLOSED_SLOW)

    # -- DetachedConnection --

    def on_data(self, data: bytes) -> None:
        """Process received bytes, which may end anywhere within a frame."""
        try:
            messages = self._decoder.feed(data)
        except MalformedFrame as error:
            logger.info("A WebSocket peer broke the protocol (%s); closed.", error)
            connection_limiter.penalise(self.session.address)
            self.finish(encode_close(error.close_code), CLOSED_PROTOCOL)
            return
        pongs: list[bytes] = []
        try:
            if self._decoder.fragment_count:  # Fragments cost as much as packets do, even empty ones.
                self.session.count_packet(self._decoder.fragment_count)
            for message in messages:
                self._process(message, pongs)
        except MalformedFrame as error:
            logger.info("A WebSocket peer sent too much (%s); closed.", error)
            connection_limiter.penalise(self.session.address)
            self.finish(TOO_MUCH, CLOSED_PROTOCOL)
            return
        if pongs:
            self.write(b"".join(pongs))
        self._wait_for(1 + self._decoder.fragment_count + len(messages))

    def cut_if_slow(self) -> None:
        """Cut off a slow consumer, except during an upgrade: the packets that waited for polls are written all at once."""
        if self._attempt.state is not AttemptState.OPEN or self.session.outgoing.channel is self:
            super().cut_if_slow()

    def on_closed(self, reason: Closed) -> None:
        """Notify the session in a worker thread, because its disconnect handler may block."""
        self.on_ended(reason)
        self._enqueue(None)

    def on_ended(self, reason: Closed) -> None:
        """Handle the end of the connection at once, in the flusher's lock. Subclasses override it."""

    def on_upgraded(self) -> None:
        """Handle the end of a successful upgrade from polling. Subclasses override it."""

    def _process(self, message: Message, pongs: list[bytes]) -> None:
        """Process one message or control frame. Raises `MalformedFrame` when too many control frames come.

        Answers to pings are added to `pongs`, to be one write: a flood of pings must not cost one `send` each.
        """
        if message.opcode in (Opcode.PING, Opcode.PONG):
            self.session.count_packet()  # They cost as much as packets do, and nothing else counts them.
        if message.opcode is Opcode.PING:
            pongs.append(encode_frame(Opcode.PONG, message.payload, mask=None))
        elif message.opcode is Opcode.CLOSE:
            # Section 5.5.1: "it MUST send a Close frame in response".
            answer = encode_frame(Opcode.CLOSE, message.payload[:2], mask=None)
            self.finish(b"".join([*pongs, answer]), CLOSED_BY_CLIENT)
        elif message.payload == PONG and message.opcode is Opcode.TEXT and self._may_handle_pong():
            self.session.server.timer.on_pong(self.session)
        elif message.opcode is not Opcode.PONG:
            self._enqueue(message)

    def _wait_for(self, frames: int) -> None:
        """Read no further until its address' share allows so many frames."""
        wait_s = connection_limiter.wait_s(self.session.address, frames * connection_limiter.FRAME)
        if wait_s:
            self._is_waiting = True
            self.listen(wanted=False)
            self.flusher.loop.call_once(round(wait_s * 1_000_000), self._read_on)

    def _read_on(self) -> None:
        with self.flusher.lock:
            self._is_waiting = False
            if self._inbox is None or len(self._inbox) < INBOX_MAX:
                self.listen(wanted=True)

    def _may_handle_pong(self) -> bool:
        """Return whether a pong may be handled at once, even while handlers work on earlier messages."""
        if self._attempt.state is not AttemptState.OPEN:
            return False
        try:
            self.session.count_packet()
        except MalformedFrame:
            return False  # Too many: the worker runs into the same limit and ends the session.
        return True

    def _enqueue(self, message: Message | None) -> None:
        """Put a message into the inbox and start a worker if none runs; `None` marks the end."""
        if message is None:
            self._is_gone = True
            if self._inbox is not None:
                return  # The running worker sees the end when the inbox is empty.
            self._inbox = deque()
            spawn(self._process_inbox)
            return
        if self._inbox is None:
            self._inbox = deque()
            spawn(self._process_inbox)
        self._inbox.append(message)
        if len(self._inbox) == INBOX_MAX:
            self.listen(wanted=False)

    def _process_inbox(self) -> None:
        """Pass the inbox to the session, message by message, until it is empty; at the end, end the session."""
        while True:
            with self.flusher.lock:
                inbox = self._inbox
                assert inbox is not None
                if not inbox:
                    if not self._is_gone:
                        self._inbox = None
                        self.listen(wanted=not self._is_waiting)
                        return
                    break
                message = inbox.popleft()
            was_probing = self._attempt.state is AttemptState.PROBING
            self._attempt.receive(message.text if message.opcode is Opcode.TEXT else message.payload)
            if was_probing and self._attempt.state is AttemptState.OPEN:
                self.on_upgraded()
        self._attempt.lost()


MakeChannel = Callable[["Taken", "WebSocketAttempt"], DetachedWebSocket]


def direct_websocket(
    make_channel: MakeChannel, *, compresses: Compresses, options: SocketOptions, otherwise: ServeWebSocket
) -> ServeWebSocket:
    """Return what serves a WebSocket request on a detached connection; `otherwise` serves those that cannot be detached."""

    def serve(attempt: WebSocketAttempt, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        if not can_take_over(environ):
            return otherwise(attempt, environ, start_response)
        extensions = environ.get("HTTP_SEC_WEBSOCKET_EXTENSIONS", "")
        is_deflated = is_offered(extensions) and compresses(environ)
        answer = handshake.answer(environ, NO_CONTEXT_TAKEOVER if is_deflated else None)
        taken = take_over(environ, options)
        channel = make_channel(taken, attempt)
        if is_deflated:
            channel.deflate()
        channel.open()
        channel.write(answer)
        attempt.begin(channel)
        if taken.rest:
            with channel.flusher.lock:
                channel.on_data(taken.rest)
        return DETACHED

    return serve
