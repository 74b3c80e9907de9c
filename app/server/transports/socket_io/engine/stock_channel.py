"""What the stock WebSockets have in common: a queue, a green thread that writes what is in it, and the reader's loop.

Made fit for strangers: bounded in bytes and in frames, no compression unless asked, no traceback, a way to cut. Whoever
reads lets the others have their turn between two frames: while there are bytes a green socket never waits.
"""

from __future__ import annotations

import contextlib
import logging
from typing import Any

from engineio.packet import Packet

from app.core.errors import MalformedFrame
from app.server.transports.socket_io.engine.entry import WebSocketEntry
from app.server.transports.socket_io.engine.host import SessionHost
from app.server.transports.socket_io.engine.session import EngineSession
from app.server.wsgi import connection_limiter
from app.server.wsgi.peer import cut

logger = logging.getLogger("siar.websocket")

SLACK_S = 5.0
"""So that a missing pong is the ping timeout's business, not the socket's."""


class QueueChannel:
    """The library's way to write: a queue, and a green thread that takes from it."""

    def __init__(self, server: SessionHost, websocket: Any, sock: Any) -> None:
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


def feed(entry: WebSocketEntry, websocket: Any, sock: Any) -> None:
    """Give the entry what comes until the connection ends, or a message is no message."""
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


def count_frame(session: EngineSession) -> None:
    """A frame that gives no message: those are counted when the session gets them. Raises `MalformedFrame`."""
    try:
        session.count_packet()
    except MalformedFrame as error:
        logger.info("A WebSocket peer sent too much (%s); closed.", error)
        connection_limiter.penalise(session.address)
        raise
