"""Server-Sent Events: one HTTP response that does not end (WHATWG HTML, section 9.2).

A client that came gets a queue; the server's green thread for the request sleeps on it and writes what comes.
"""

from __future__ import annotations

import queue
import socket
from collections.abc import Iterator, Sequence
from typing import cast

from app.broker.base import Broker, Filter, Replay
from app.core.event_stream import encode_comment, encode_event, encode_prelude
from app.core.notification import Notification, encode_json
from app.core.position import Position
from app.core.wire import EVENT_GAP, EVENT_NOTIFICATION, TRANSPORT_SSE
from app.fanout import CLOSED_BY_CLIENT, CLOSED_SLOW, Connection, Fanout
from app.serving.peer import cut

REPLAY_WRITE_BYTES = 65_536
"""What was missed goes out in writes of about this size: few calls, and little memory for each client."""


def frame(notification: Notification) -> bytes:
    """The event's bytes, the same for every client."""
    return encode_event(event=EVENT_NOTIFICATION, data=notification.json, id=notification.id)


class SseConnection:
    """A client's queue of ready bytes; `None` in it ends the stream."""

    def __init__(self, transport: SseTransport, wanted: Filter, sock: socket.socket | None) -> None:
        self._transport = transport
        self._sock = sock
        self.wanted = wanted
        self.queue: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._prelude = b""
        self._missed: tuple[Notification, ...] = ()
        """By reference: a stranger who asks for all of history, many times, must not copy it many times."""

    def start(self, replay: Replay) -> None:
        """Note what the stream begins with: the prelude, the gap if there is one, and what was missed."""
        position = self._transport.broker.position()
        stands_at: Position = position
        if replay.notifications:
            stands_at = Position(position.epoch, replay.notifications[0].offset - 1)
        self._prelude = encode_prelude(retry_ms=self._transport.retry_ms, id=str(stands_at))
        if replay.gap is not None:
            gap = replay.gap
            self._prelude += encode_event(event=EVENT_GAP, data=encode_json(gap.wire()), id=str(gap.position))
        self._missed = replay.notifications

    def opening(self) -> Iterator[bytes]:
        """What the stream begins with, in writes of a bounded size."""
        chunk = self._prelude
        missed, self._missed = self._missed, ()
        for notification in missed:
            chunk += frame(notification)
            if len(chunk) >= REPLAY_WRITE_BYTES:
                yield chunk
                chunk = b""
        if chunk:
            yield chunk

    def close(self, reason: str) -> None:
        """End the stream behind what waits; a client that does not read is cut off."""
        self.queue.put(None)
        if reason == CLOSED_SLOW:
            cut(self._sock)


class SseTransport:
    """The framing of SSE, and the stream of bytes for one client."""

    def __init__(
        self, fanout: Fanout, broker: Broker, *, retry_ms: int, heartbeat_s: float, queue_max: int
    ) -> None:
        self._fanout = fanout
        self.broker = broker
        self.retry_ms = retry_ms
        self._heartbeat_s = heartbeat_s
        self._queue_max = queue_max
        fanout.register(TRANSPORT_SSE, self)

    def send(self, notification: Notification, connections: Sequence[Connection]) -> None:
        """Frame once, queue everywhere; whoever has too much waiting is cut off and resumes from history."""
        chunk = frame(notification)
        for connection in cast(Sequence[SseConnection], connections):
            if connection.queue.qsize() >= self._queue_max:
                self._fanout.unsubscribe(connection, CLOSED_SLOW)
                connection.close(CLOSED_SLOW)
            else:
                connection.queue.put(chunk)

    def open(self, wanted: Filter, since: Position | None, sock: socket.socket | None) -> SseConnection:
        """A subscribed connection. Raises `TooManyConnections`."""
        connection = SseConnection(self, wanted, sock)
        self._fanout.subscribe(connection, since)
        return connection

    def stream(self, connection: SseConnection) -> Iterator[bytes]:
        """The response's body: what is queued, as it comes, with heartbeats in the pauses.

        A heartbeat carries the position, so that a client whose topics were silent resumes from now, and it is
        what finds a client that left without a word.
        """
        yield from connection.opening()
        while True:
            try:
                chunk = connection.queue.get(timeout=self._heartbeat_s)
            except queue.Empty:
                position = self.broker.position()
                if not connection.queue.empty():
                    continue  # published while we woke: the position must not overtake it
                chunk = encode_comment("heartbeat", id=str(position))
            if chunk is None:
                return
            yield chunk

    def closed(self, connection: SseConnection) -> None:
        """The client's end of the response: whatever ended it."""
        self._fanout.unsubscribe(connection, CLOSED_BY_CLIENT)
