"""The stock WebSocket on simple-websocket, for gevent and for threads (Werkzeug).

simple-websocket reads in a thread of its own, as fast as it can, and bounds single messages only.
"""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Iterable, Iterator
from typing import Any

from app.core.errors import MalformedFrame
from app.core.protocol.deflate import NO_CONTEXT_TAKEOVER, is_answered
from app.core.protocol.websocket import NOT_ALLOWED
from app.server.transports.socket_io.engine.attempt import WebSocketAttempt
from app.server.transports.socket_io.engine.handshake import offered_subprotocols
from app.server.transports.socket_io.engine.server import Environ, StartResponse
from app.server.transports.socket_io.engine.session import EngineSession
from app.server.transports.socket_io.engine.stock_channel import count_frame, receive_all
from app.server.wsgi import mode
from app.server.wsgi.detached import DETACHED
from app.server.wsgi.peer import cut, peer_socket

READ_AHEAD_MAX = 64
"""Upper bound of messages that the reading thread may be ahead of the consumer."""

LAST_WRITE_S = 1.0
"""Time for the driver's thread to write the close frame."""

LOOK_AGAIN_S = 0.02
"""Interval at which a reader that is too far ahead checks whether it may go on."""


def websocket_class(*, compression: bool) -> Any:
    """Return the class that opens a WebSocket."""
    import simple_websocket
    from wsproto.events import AcceptConnection
    from wsproto.utilities import LocalProtocolError

    class Connection(simple_websocket.Server):  # type: ignore[misc]
        """simple-websocket's server with our choice of compression and bounds, and the method names of the driver."""

        connected: bool

        def __init__(self, environ: Environ, session: EngineSession) -> None:
            self._session = session
            # simple-websocket selects the first offered subprotocol that the server supports.
            super().__init__(
                environ,
                subprotocols=offered_subprotocols(environ),
                max_message_size=int(session.server.max_http_buffer_size),
            )

        def handshake(self) -> None:
            send, events = self.ws.send, self.ws.events

            def without_extensions(event: Any) -> Any:
                if isinstance(event, AcceptConnection):
                    bytes_max = int(self._session.server.max_http_buffer_size)
                    event.extensions[:] = [deflate_class()(bytes_max)] if compression else []
                return send(event)

            self.ws.send = without_extensions
            self.ws.events = lambda: _counted(events(), self._session)
            super().handshake()

        def _handle_events(self) -> bool:
            while self.connected and len(self.input_buffer) >= READ_AHEAD_MAX:
                self._session.server.sleep(LOOK_AGAIN_S)
            try:
                goes_on = super()._handle_events()
            except MalformedFrame as error:
                goes_on = False
                with contextlib.suppress(OSError, LocalProtocolError, simple_websocket.ConnectionClosed):
                    self.close(NOT_ALLOWED, str(error))
            if not goes_on:
                # The library wakes its reader before it sets these, so that a quick reader would wait for ever.
                self.connected = False
                self.event.set()
            return bool(goes_on)

        def wait(self) -> Any:
            """Return the next message, or `None` at the end."""
            try:
                return self.receive()
            except simple_websocket.ConnectionClosed:
                # The library wakes its reader before it writes its close frame.
                self.thread.join(LAST_WRITE_S)
                return None

    return Connection


def deflate_class() -> Any:
    """Return wsproto's permessage-deflate extension with a bound, and each message compressed by itself (direct path too).

    wsproto decompresses everything before anyone can check the size, up to a thousand times the bytes read.
    """
    from wsproto.extensions import PerMessageDeflate
    from wsproto.frame_protocol import CloseReason

    class BoundedDeflate(PerMessageDeflate):
        def __init__(self, bytes_max: int) -> None:
            super().__init__(client_no_context_takeover=True, server_no_context_takeover=True)
            self._bytes_max = self._bytes_left = bytes_max

        def accept(self, offer: str) -> str | None:
            if self.enabled() or not is_answered(offer):
                return None
            self._enabled = True
            return NO_CONTEXT_TAKEOVER.partition("; ")[2]

        def frame_inbound_payload_data(self, proto: Any, data: bytes) -> bytes | CloseReason:
            if not self._inbound_compressed or not self._inbound_is_compressible:
                return data
            assert self._decompressor is not None
            try:
                unpacked = self._decompressor.decompress(bytes(data), self._bytes_left + 1)
            except zlib.error:
                return CloseReason.INVALID_FRAME_PAYLOAD_DATA
            self._bytes_left -= len(unpacked)
            return unpacked if self._bytes_left >= 0 else CloseReason.MESSAGE_TOO_BIG

        def frame_inbound_complete(self, proto: Any, fin: bool) -> bytes | CloseReason | None:  # noqa: FBT001 - wsproto's
            if fin and self._inbound_is_compressible:
                self._bytes_left = self._bytes_max
            return super().frame_inbound_complete(proto, fin)

    return BoundedDeflate


def _counted(events: Iterator[Any], session: EngineSession) -> Iterator[Any]:
    """Yield the events, counting frames that complete no message, and let other threads run after each."""
    from wsproto.events import Message, Ping, Pong

    for event in events:
        # Of a frame that arrives in pieces, only the last piece has `frame_finished`.
        is_fragment = isinstance(event, Message) and event.frame_finished and not event.message_finished
        if is_fragment or isinstance(event, (Ping, Pong)):
            count_frame(session)
        yield event
        session.server.sleep(0)


def serve(
    open_websocket: Any, attempt: WebSocketAttempt, environ: Environ, start_response: StartResponse
) -> Iterable[bytes]:
    """Serve one WebSocket, from its handshake to its end."""
    import simple_websocket

    try:
        # The driver wants this name alone; handshake.py has checked the list that it may be part of.
        connection = open_websocket({**environ, "HTTP_UPGRADE": "websocket"}, attempt.session)
    except simple_websocket.ConnectionError:
        start_response("400 Bad Request", [("Content-Length", "0")])
        return []
    sock = peer_socket(environ)
    try:
        receive_all(attempt, connection, sock)
    finally:
        connection.connected = False  # Its reading thread may be waiting for its messages to be consumed.
        cut(sock)  # Otherwise Werkzeug waits on it for another request.
    if connection.mode == "werkzeug":
        raise ConnectionError  # Tells Werkzeug that nothing is to be written any more.
    if connection.mode == "gunicorn" and mode.current() == mode.THREADS:
        raise StopIteration  # The same for gunicorn's own thread worker; our worker recognises DETACHED.
    return DETACHED
