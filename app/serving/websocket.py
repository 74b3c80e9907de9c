"""The stock WebSocket, as python-engineio has it: the driver's own class, a reader, a queue and a writer.

Made fit for strangers: bounded, no compression unless asked, no traceback, a way to cut. For eventlet (under our
gunicorn worker and `eventlet.wsgi`), for gevent and for threads (Werkzeug).
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterable
from typing import Any

from engineio.packet import Packet

from app.serving import mode
from app.serving.engine_entry import WebSocketEntry
from app.serving.engine_server import EngineServer, Environ, StartResponse
from app.serving.handled import HANDLED
from app.serving.peer import cut, peer_socket
from app.serving.takeover import SocketOptions, set_options

logger = logging.getLogger("siar.websocket")

SLACK_S = 5.0
"""So that a missing pong is the ping timeout's business, not the socket's."""

ServeWebSocket = Callable[[WebSocketEntry, Environ, StartResponse], Iterable[bytes]]


def stock_websocket(*, compression: bool, options: SocketOptions) -> ServeWebSocket:
    """How `EngineServer` serves a WebSocket request in the present mode."""
    serve = _on_eventlet if mode.current() == mode.EVENTLET else _on_threads
    websocket_class = _eventlet_class if mode.current() == mode.EVENTLET else _threads_class
    open_websocket = websocket_class(compression=compression)

    def serve_websocket(
        entry: WebSocketEntry, environ: Environ, start_response: StartResponse
    ) -> Iterable[bytes]:
        set_options(peer_socket(environ), options)
        try:
            return serve(open_websocket, entry, environ, start_response)
        finally:
            entry.lost()

    return serve_websocket


class QueueChannel:
    """The library's way to write: a queue, and a green thread that takes from it."""

    def __init__(self, server: EngineServer, websocket: Any, sock: Any) -> None:
        self._websocket = websocket
        self._sock = sock
        self._queue = server.create_queue()
        self._writer = server.start_background_task(self._write)

    @property
    def waiting_count(self) -> int:
        """Packets in the queue."""
        return int(self._queue.qsize())

    def send_packet(self, pkt: Packet) -> None:
        """Into the queue."""
        self._queue.put(pkt)

    def close(self) -> None:
        """The writer ends the connection when it comes here."""
        self._queue.put(None)

    def cut(self) -> None:
        """Reader and writer find the connection closed."""
        cut(self._sock)

    def join(self) -> None:
        """Wait until everything has been written."""
        self._writer.join()

    def _write(self) -> None:
        # Whatever the driver raises for a peer that left or does not read, it means the end of this connection.
        with contextlib.suppress(Exception):
            while (pkt := self._queue.get()) is not None:
                self._websocket.send(pkt.encode())
        with contextlib.suppress(Exception):
            self._websocket.close()


def _serve(entry: WebSocketEntry, websocket: Any, sock: Any) -> None:
    """Feed the entry until the connection ends, or a message is no message."""
    server = entry.session.server
    with contextlib.suppress(OSError, AttributeError):
        # Neither a peer that does not read nor one that says nothing holds a green thread for longer.
        sock.settimeout(server.ping_interval + server.ping_timeout + SLACK_S)
    channel = QueueChannel(server, websocket, sock)
    entry.begin(channel)
    try:
        while (data := websocket.wait()) is not None:
            entry.receive(data)
    except Exception as error:  # noqa: BLE001 - whatever a stranger's bytes cause in the driver
        logger.info("A WebSocket broke (%s: %s); closed.", type(error).__name__, error)
    entry.lost()
    channel.close()
    channel.join()


class _Debug:
    """A stream for the debug log."""

    @staticmethod
    def write(text: str) -> None:
        logger.debug("%s", text)


def _close(connection: Any) -> None:
    """Takes the place of eventlet's `close`, which closes the descriptor under its own reader.

    The reader would then sleep until its timeout of 45 s; after a shutdown it reads the end at once.
    """
    with contextlib.suppress(OSError):
        connection._send_closing_frame(ignore_send_errors=True)
    cut(connection.socket)


def _bounded(connection: Any, bytes_max: int) -> None:
    """eventlet bounds the frame, not the message: a client could send fragments without end."""
    from eventlet.websocket import FailedConnectionError

    receive_frame = connection._recv_frame
    received_bytes = 0

    def receive(message: Any = None) -> Any:
        nonlocal received_bytes
        parts_before = 0 if message is None else len(message.data)
        received = receive_frame(message=message)
        if received is not message:
            if received.opcode & 8:
                return received  # A control frame between fragments.
            received_bytes = parts_before = 0
        received_bytes += sum(len(part) for part in received.data[parts_before:])
        if received_bytes > bytes_max:
            raise FailedConnectionError(1009, "The message is too long.")
        return received

    connection._recv_frame = receive


def _eventlet_class(*, compression: bool) -> Any:
    from eventlet import websocket

    class EventletWebSocket(websocket.WebSocketWSGI):  # type: ignore[misc]
        """eventlet's own, with the handshake's answers in our hands."""

        def _negotiate_permessage_deflate(self, extensions: Any) -> Any:
            # Each client's copy would be compressed again: off, unless its cost is the question.
            return super()._negotiate_permessage_deflate(extensions) if compression else None

    return EventletWebSocket


def _on_eventlet(
    websocket_class: Any, entry: WebSocketEntry, environ: Environ, start_response: StartResponse
) -> Iterable[bytes]:
    from eventlet import websocket, wsgi

    bytes_max = int(entry.session.server.max_http_buffer_size)
    opener = websocket_class(None, max_frame_length=bytes_max)
    try:
        # What eventlet says there of a peer that left first is no error.
        connection = opener._handle_hybi_request({**environ, "wsgi.errors": _Debug()})
    except (websocket.BadRequest, KeyError) as error:
        status = getattr(error, "status", None) or "400 Bad Request"
        headers = getattr(error, "headers", None) or []
        start_response(status, [("Connection", "close"), ("Content-Length", "0"), *headers])
        return []
    connection.close = lambda: _close(connection)
    _bounded(connection, bytes_max)
    _serve(entry, connection, connection.socket)
    wsgi.WSGI_LOCAL.already_handled = True  # what `eventlet.wsgi` asks for
    return HANDLED


def _threads_class(*, compression: bool) -> Any:
    import simple_websocket
    from wsproto.events import AcceptConnection

    class Connection(simple_websocket.Server):  # type: ignore[misc]
        """simple-websocket's server, which would always accept compression, under the driver's names."""

        def handshake(self) -> None:
            send = self.ws.send

            def without_extensions(event: Any) -> Any:
                if isinstance(event, AcceptConnection) and not compression:
                    event.extensions.clear()
                return send(event)

            self.ws.send = without_extensions
            super().handshake()

        def _handle_events(self) -> bool:
            goes_on = super()._handle_events()
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
                return None

    return Connection


def _on_threads(
    websocket_class: Any, entry: WebSocketEntry, environ: Environ, start_response: StartResponse
) -> Iterable[bytes]:
    import simple_websocket

    try:
        connection = websocket_class(environ, max_message_size=int(entry.session.server.max_http_buffer_size))
    except simple_websocket.ConnectionError:
        start_response("400 Bad Request", [("Content-Length", "0")])
        return []
    sock = peer_socket(environ)
    try:
        _serve(entry, connection, sock)
    finally:
        cut(sock)  # Werkzeug would wait on it for a next request
    if connection.mode == "werkzeug":
        raise ConnectionError  # how Werkzeug is told that nothing is to be written any more
    if connection.mode == "gunicorn" and mode.current() == mode.THREADS:
        raise StopIteration  # likewise gunicorn's own thread worker; ours knows HANDLED
    return HANDLED
