"""The stock WebSocket on simple-websocket, for gevent and for threads (Werkzeug).

It reads in a thread of its own, as fast as it can, and bounds the message only.
"""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Iterable, Iterator
from typing import Any

from app.core.errors import MalformedFrame
from app.core.protocol.deflate import NO_CONTEXT_TAKEOVER, is_answered
from app.core.protocol.websocket import NOT_ALLOWED
from app.server.transports.socket_io.engine.entry import WebSocketEntry
from app.server.transports.socket_io.engine.handshake import offered_subprotocols
from app.server.transports.socket_io.engine.server import Environ, StartResponse
from app.server.transports.socket_io.engine.session import EngineSession
from app.server.transports.socket_io.engine.stock_channel import count_frame, feed
from app.server.wsgi import mode
from app.server.wsgi.detached import DETACHED
from app.server.wsgi.peer import cut, peer_socket

READ_AHEAD_MAX = 64
"""Messages that may have been read and not been asked for."""

LAST_WRITE_S = 1.0
"""For the close frame."""

LOOK_AGAIN_S = 0.02
"""Whether some of them have been asked for."""


def websocket_class(*, compression: bool) -> Any:
    """What opens a WebSocket."""
    import simple_websocket
    from wsproto.events import AcceptConnection
    from wsproto.utilities import LocalProtocolError

    class Connection(simple_websocket.Server):  # type: ignore[misc]
        """simple-websocket's server, which would always accept compression, under the driver's names."""

        connected: bool

        def __init__(self, environ: Environ, session: EngineSession) -> None:
            self._session = session
            # Of those that it supports it takes the first that is offered.
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
                # It wakes its reader first and then says so: a reader that is quick waits for ever.
                self.connected = False
                self.event.set()
            return bool(goes_on)

        def wait(self) -> Any:
            """The next message, `None` at the end."""
            try:
                return self.receive()
            except simple_websocket.ConnectionClosed:
                self.thread.join(LAST_WRITE_S)  # It wakes its reader before it writes its own close.
                return None

    return Connection


def deflate_class() -> Any:
    """wsproto's permessage-deflate, each message by itself as on the direct path, and with a bound.

    Its own unpacks whatever comes, a thousand times the length of a read, before anybody looks at how much it is.
    """
    from wsproto.extensions import PerMessageDeflate
    from wsproto.frame_protocol import CloseReason

    class Bounded(PerMessageDeflate):
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

    return Bounded


def _counted(events: Iterator[Any], session: EngineSession) -> Iterator[Any]:
    """The same events: frames that give no message are counted, and others have their turn behind each."""
    from wsproto.events import Message, Ping, Pong

    for event in events:
        # Of a frame that comes in pieces only the last one finishes it.
        is_fragment = isinstance(event, Message) and event.frame_finished and not event.message_finished
        if is_fragment or isinstance(event, (Ping, Pong)):
            count_frame(session)
        yield event
        session.server.sleep(0)


def serve(
    open_websocket: Any, entry: WebSocketEntry, environ: Environ, start_response: StartResponse
) -> Iterable[bytes]:
    """One WebSocket, from its handshake to its end."""
    import simple_websocket

    try:
        # It wants the one name; the list that this may be a part of has been looked at (handshake.py).
        connection = open_websocket({**environ, "HTTP_UPGRADE": "websocket"}, entry.session)
    except simple_websocket.ConnectionError:
        start_response("400 Bad Request", [("Content-Length", "0")])
        return []
    sock = peer_socket(environ)
    try:
        feed(entry, connection, sock)
    finally:
        connection.connected = False  # Its own thread may wait for what it has read to be asked for.
        cut(sock)  # Werkzeug would wait on it for a next request
    if connection.mode == "werkzeug":
        raise ConnectionError  # how Werkzeug is told that nothing is to be written any more
    if connection.mode == "gunicorn" and mode.current() == mode.THREADS:
        raise StopIteration  # likewise gunicorn's own thread worker; ours knows DETACHED
    return DETACHED
