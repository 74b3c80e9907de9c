"""Common parts of the stock WebSockets: a packet queue, a green thread that writes it, and the reader's loop.

In addition to the library's behaviour, bytes and frames are bounded, compression is off unless configured, bad peers
cause no traceback, and a connection can be cut. The reader yields between two frames, because a green socket with data
to read never blocks, and the other threads would starve.
"""

from __future__ import annotations

import contextlib
import logging
from typing import Any

from engineio.packet import Packet

from app.core.errors import MalformedFrame
from app.server.transports.socket_io.engine.attempt import WebSocketAttempt
from app.server.transports.socket_io.engine.host import SessionHost
from app.server.transports.socket_io.engine.session import EngineSession
from app.server.wsgi import connection_limiter
from app.server.wsgi.peer import cut

logger = logging.getLogger("siar.websocket")

SLACK_S = 5.0
"""Extra time on the socket's timeout, so that the ping timeout detects a missing pong first."""


class QueueChannel:
    """A packet channel as in the library: a queue, and a green thread that writes it."""

    def __init__(self, server: SessionHost, websocket: Any, sock: Any) -> None:
        self._websocket = websocket
        self._sock = sock
        self._queue = server.create_queue()
        self._writer = server.start_background_task(self._write)

    @property
    def waiting_count(self) -> int:
        """Return how many packets are queued."""
        return int(self._queue.qsize())

    def send_packet(self, pkt: Packet) -> None:
        """Queue a packet."""
        self._queue.put(pkt)

    def close(self) -> None:
        """Make the writer end the connection after what is queued."""
        self._queue.put(None)

    def cut(self) -> None:
        """Cut the connection; reader and writer then find it closed."""
        cut(self._sock)

    def join(self) -> None:
        """Wait until everything has been written."""
        self._writer.join()

    def _write(self) -> None:
        # Whatever the driver raises for a peer that left or does not read, this connection has ended.
        with contextlib.suppress(Exception):
            while (pkt := self._queue.get()) is not None:
                self._websocket.send(pkt.encode())
        with contextlib.suppress(Exception):
            self._websocket.close()


def receive_all(attempt: WebSocketAttempt, websocket: Any, sock: Any) -> None:
    """Pass received messages to the attempt until the connection ends or breaks."""
    server = attempt.session.server
    with contextlib.suppress(OSError, AttributeError):
        # A peer that does not read or does not write must not hold a green thread for longer than this.
        sock.settimeout(server.ping_interval + server.ping_timeout + SLACK_S)
    channel = QueueChannel(server, websocket, sock)
    attempt.begin(channel)
    try:
        while (data := websocket.wait()) is not None:
            attempt.receive(data)
    except Exception as error:  # noqa: BLE001 - whatever a peer's bytes cause in the driver
        logger.info("A WebSocket broke (%s: %s); closed.", type(error).__name__, error)
    attempt.lost()
    channel.close()
    channel.join()


def count_frame(session: EngineSession) -> None:
    """Count a control frame or fragment, when it is its turn; the session counts whole messages. Raises `MalformedFrame`."""
    session.wait_for(connection_limiter.FRAME)
    try:
        session.count_packet()
    except MalformedFrame as error:
        logger.info("A WebSocket peer sent too much (%s); closed.", error)
        connection_limiter.penalise(session.address)
        raise
