"""Framing of lines, and how their streams begin and end. It would be app/server/transports/lines.py."""

from __future__ import annotations

import json
import queue
from collections.abc import Iterator, Sequence
from typing import Any

import flask

from app.core.notification import Notification, encode_json
from app.core.position import Position
from app.core.protocol.http_response import LAST_CHUNK, chunk
from app.core.wire import EVENT_GAP, EVENT_NOTIFICATION
from app.server.broker.base import Broker, Filter, Replay
from app.server.fanout.closed import CLOSED_BY_CLIENT, CLOSED_SLOW, Closed
from app.server.fanout.connection import DetachedConnection
from app.server.fanout.fanout import Fanout
from app.server.transports.base import ServerParts, Transport, socket_options
from app.server.wsgi import epoll
from app.server.wsgi.admission import Admission
from app.server.wsgi.loop import Loop
from app.server.wsgi.peer import address_of, cut, peer_socket
from app.server.wsgi.takeover import SocketOptions, Taken, set_options, take_over


def line(event: str, data: str) -> bytes:
    """Return an event's bytes; `data` is JSON, encoded once for all transports."""
    return f'{{"event":"{event}","data":{data}}}\n'.encode()


class LinesConnection(DetachedConnection):
    """A client's stream on the direct path."""

    __slots__ = ("_address", "_head", "_transport", "wanted")

    wanted: Filter

    def __init__(self, transport: LinesTransport, wanted: Filter, taken: Taken, head: bytes, address: str):
        super().__init__(transport.fanout.flusher, taken.sock)
        self._transport, self._head, self._address = transport, head, address
        self.wanted = wanted

    def start(self, replay: Replay) -> None:
        self.write(self._head + chunk(self._transport.opening(replay)))

    def end(self, reason: Closed) -> None:
        if reason == CLOSED_SLOW:
            self.drop(reason)
        else:
            self.finish(LAST_CHUNK, reason)

    def on_data(self, data: bytes) -> None:
        """Close the connection: no data is expected from a client."""
        self.drop(CLOSED_BY_CLIENT)

    def on_closed(self, reason: Closed) -> None:
        self._transport.fanout.unsubscribe(self, reason)
        self._transport.admission.leave(self._address)


class LinesQueue:
    """A client's stream on the stock path: a queue on which the request's green thread waits; `None` ends it."""

    detached = None
    encoding = ""

    def __init__(self, transport: LinesTransport, wanted: Filter, environ: dict[str, Any]) -> None:
        self._transport = transport
        self.wanted = wanted
        self.address = address_of(environ)
        self._sock = peer_socket(environ)
        self._fd = -1
        self.queue: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()

    def watch(self, loop: Loop) -> None:
        """Detect a client that leaves; the waiting green thread would notice only at its second write."""
        if self._sock is not None and loop.is_possible:
            self._fd = self._sock.fileno()
            loop.watch(self._fd, self, read=False)

    def forget(self, loop: Loop) -> None:
        """Stop watching, because the server is about to close the connection."""
        if self._fd >= 0:
            loop.forget(self._fd)
            self._fd = -1

    def on_events(self, events: int) -> None:
        """Handle a client that has left."""
        if events & (epoll.PEER_CLOSED | epoll.HANG_UP | epoll.ERROR):
            self.forget(self._transport.fanout.flusher.loop)
            self.queue.put(None)

    def start(self, replay: Replay) -> None:
        self.queue.put(self._transport.opening(replay))

    def end(self, reason: Closed) -> None:
        if reason == CLOSED_SLOW:
            cut(self._sock)
        self.queue.put(None)


class LinesTransport(Transport[LinesQueue]):
    """`app.server.transports.base.Transport`, and the methods for the view."""

    def __init__(
        self, fanout: Fanout, broker: Broker, admission: Admission, options: SocketOptions, queue_max: int
    ) -> None:
        self.fanout, self.admission = fanout, admission
        self._broker, self._options, self._queue_max = broker, options, queue_max

    def frame(self, notification: Notification, encoding: str) -> bytes:
        """Return a notification's bytes, equal for all clients; only the direct path adds chunks here."""
        return chunk(line(EVENT_NOTIFICATION, notification.json))

    def frame_notice(self, event: str, json: str, encoding: str) -> bytes:
        """Return the bytes of an event that has no position."""
        return chunk(line(event, json))

    def opening(self, replay: Replay) -> bytes:
        """Return the first bytes of a stream: position, gap, missed notifications.

        The position comes first, so that a client that breaks off at once can resume.
        """
        first = line("position", json.dumps(str(self._broker.position())))
        gap = b"" if replay.gap is None else line(EVENT_GAP, encode_json(replay.gap.wire()))
        return first + gap + b"".join(line(EVENT_NOTIFICATION, each.json) for each in replay.notifications)

    def open(self, wanted: Filter, since: Position | None, environ: dict[str, Any], head: bytes) -> None:
        """Detach an admitted request's connection, answer on it, and subscribe it."""
        taken = take_over(environ, self._options)
        connection = LinesConnection(self, wanted, taken, head, address_of(environ))
        connection.open()
        self.fanout.subscribe(connection, since)

    def send(self, notification: Notification, connections: Sequence[LinesQueue]) -> None:
        """Put the notification into all queues; a slow consumer is disconnected and resumes from history."""
        for connection in connections:
            if connection.queue.qsize() >= self._queue_max:
                self.fanout.unsubscribe(connection, CLOSED_SLOW)
                connection.end(CLOSED_SLOW)
            else:
                connection.queue.put(line(EVENT_NOTIFICATION, notification.json))

    def send_notice(self, event: str, json: str, connections: Sequence[LinesQueue]) -> None:
        for connection in connections:
            connection.queue.put(line(event, json))

    def open_queue(self, wanted: Filter, since: Position | None, environ: dict[str, Any]) -> LinesQueue:
        """Subscribe on the stock path, on the server's connection."""
        set_options(peer_socket(environ), self._options)
        connection = LinesQueue(self, wanted, environ)
        self.fanout.subscribe(connection, since)
        connection.watch(self.fanout.flusher.loop)
        return connection

    def stream(self, connection: LinesQueue) -> Iterator[bytes]:
        """Yield the body of the stock response."""
        while (piece := connection.queue.get()) is not None:
            yield piece

    def closed(self, connection: LinesQueue) -> None:
        """Clean up after the stock response, whatever ended it."""
        connection.forget(self.fanout.flusher.loop)
        self.fanout.unsubscribe(connection, CLOSED_BY_CLIENT)
        self.admission.leave(connection.address)


def make(_app: flask.Flask, parts: ServerParts) -> LinesTransport:
    """Make the transport of a server."""
    queue_max = parts.settings.queue_notifications_max
    return LinesTransport(
        parts.fanout, parts.broker, parts.admission, socket_options(parts.settings), queue_max
    )
