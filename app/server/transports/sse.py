"""Server-Sent Events: one HTTP response that does not end (WHATWG HTML, section 9.2).

direct: the connection is detached from the WSGI server, and the flusher writes to it. No thread, no queue.
stock:  the connection has a queue, and the WSGI server's green thread for the request sleeps on it.

On the direct path each frame is one HTTP chunk (RFC 9112, section 7.1), built once and shared by all clients. On the
stock path the WSGI server does the chunking.
"""

from __future__ import annotations

import queue
import random
import socket
from collections.abc import Iterator, Sequence
from typing import Any

import flask

from app import clock
from app.core.notification import Notification, encode_json
from app.core.position import Position
from app.core.protocol.deflate import DEFLATED, GZIP_HEAD, deflated, stored
from app.core.protocol.event_stream import (
    encode_comment,
    encode_event,
    encode_notice,
    encode_prelude,
    encode_retry,
    jittered_retry_ms,
    spread_retry_ms,
)
from app.core.protocol.http_response import LAST_CHUNK, chunk
from app.core.wire import EVENT_GAP, EVENT_NOTIFICATION, TRANSPORT_SSE
from app.server.broker.base import Broker, Filter, Replay
from app.server.fanout.closed import CLOSED_BY_CLIENT, CLOSED_SLOW, Closed
from app.server.fanout.connection import DetachedConnection
from app.server.fanout.fanout import Fanout, FilteredChannel
from app.server.transports.base import REPLAY_WRITE_BYTES, ServerParts, Transport, socket_options
from app.server.wsgi import epoll
from app.server.wsgi.admission import Admission
from app.server.wsgi.loop import Loop
from app.server.wsgi.peer import address_of, cut, peer_socket
from app.server.wsgi.takeover import SocketOptions, Taken, set_options, take_over

UNREAD_BYTES_MAX = 65_536
"""Upper bound of what a client may send after its request, where the protocol expects nothing."""


FORM_PLAIN = ""
FORM_DEFLATED = DEFLATED
"""Encoding of a stream whose client accepts gzip and may have it."""


def frame(notification: Notification) -> bytes:
    """Return the event's bytes, which are the same for every client."""
    return encode_event(event=EVENT_NOTIFICATION, data=notification.json, id=notification.id)


def encode_shared(data: bytes, encoding: str) -> bytes:
    """Encode a piece that all streams of `encoding` share."""
    return deflated(data) if encoding == FORM_DEFLATED else data


def encode_single(data: bytes, encoding: str) -> bytes:
    """Encode a piece for a single stream of `encoding`, uncompressed: compressing once per client would cost too much CPU."""
    return stored(data) if encoding == FORM_DEFLATED else data


class SseConnection(DetachedConnection):
    """A client's event stream on a detached connection (direct path)."""

    __slots__ = ("_address", "_head", "_transport", "_unread_bytes", "encoding", "wanted")

    encoding: str
    wanted: Filter

    def __init__(
        self, transport: SseTransport, wanted: Filter, taken: Taken, head: bytes, address: str, encoding: str
    ) -> None:
        super().__init__(transport.fanout.flusher, taken.sock)
        self.encoding = encoding
        self._transport = transport
        self._address = address
        self.wanted = wanted
        self._head = head
        self._unread_bytes = 0

    def start(self, replay: Replay) -> None:
        """Write the response's head, the opening of the stream and the replay."""
        head, self._head = self._head, b""
        replayed = (
            map(chunk, replay_frames(replay.notifications, self.encoding)) if replay.notifications else None
        )
        self.write(
            head + chunk(encode_opening(self._transport.opening(replay), self.encoding)), replay=replayed
        )

    def end(self, reason: Closed) -> None:
        """End the stream cleanly after what is queued. A slow consumer is cut off in the middle of its stream instead."""
        if reason == CLOSED_SLOW:
            self.drop(reason)
        else:
            self.finish(
                chunk(encode_single(self._transport.closing_event(), self.encoding)) + LAST_CHUNK, reason
            )

    def on_data(self, data: bytes) -> None:
        """Discard unexpected data from the client; too much of it ends the connection."""
        self._unread_bytes += len(data)
        if self._unread_bytes > UNREAD_BYTES_MAX:
            self.drop(CLOSED_BY_CLIENT)

    def on_closed(self, reason: Closed) -> None:
        """Unsubscribe the connection and release its place, whichever side ended it."""
        self._transport.fanout.unsubscribe(self, reason)
        self._transport.admission.leave(self._address)


class SseQueue:
    """A client's event stream on the WSGI server's connection (stock path): a queue of bytes, in which `None` is the end."""

    detached = None

    def __init__(
        self, transport: SseTransport, wanted: Filter, sock: socket.socket | None, address: str, encoding: str
    ) -> None:
        self._transport = transport
        self.encoding = encoding
        self._sock = sock
        self.address = address
        self.wanted = wanted
        self._fd = -1
        self.queue: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._opening = b""
        self._replayed: tuple[Notification, ...] = ()
        """Notifications to replay, by reference: many requests for all of history must not copy it many times."""

    def watch(self, loop: Loop) -> None:
        """Watch the socket for the client's end; without this it is noticed at the second write after it."""
        if self._sock is not None and loop.is_possible:
            self._fd = self._sock.fileno()
            loop.watch(self._fd, self, read=False)

    def forget(self, loop: Loop) -> None:
        """Stop watching the socket, because the WSGI server is about to close it."""
        if self._fd >= 0:
            loop.forget(self._fd)

    def on_events(self, events: int) -> None:
        """End the stream when the loop reports that the client has left."""
        if events & (epoll.PEER_CLOSED | epoll.HANG_UP | epoll.ERROR):
            self.forget(self._transport.fanout.flusher.loop)
            self._fd = -1
            self.queue.put(None)

    def start(self, replay: Replay) -> None:
        """Store the opening of the stream and the notifications to replay."""
        self._opening = self._transport.opening(replay)
        self._replayed = replay.notifications

    def opening(self) -> Iterator[bytes]:
        """Yield the opening of the stream and the replay, in writes of bounded size."""
        replayed, self._replayed = self._replayed, ()
        yield encode_opening(self._opening, self.encoding)
        yield from replay_frames(replayed, self.encoding)

    def end(self, reason: Closed) -> None:
        """End the stream after what is queued; a slow consumer is cut off at once."""
        if reason == CLOSED_SLOW:
            cut(self._sock)
        else:
            self.queue.put(encode_single(self._transport.closing_event(), self.encoding))
        self.queue.put(None)


class SseTransport(Transport[SseQueue]):
    """Frames notifications as SSE, and opens streams, keeps them alive and ends them."""

    def __init__(
        self,
        fanout: Fanout,
        broker: Broker,
        admission: Admission,
        *,
        socket_options: SocketOptions,
        retry_ms: int,
        heartbeat_s: float,
        queue_max: int,
    ) -> None:
        self.fanout = fanout
        self.admission = admission
        self._socket_options = socket_options
        self._broker = broker
        self._retry_ms = retry_ms
        self._heartbeat_s = heartbeat_s
        self._queue_max = queue_max
        self._has_heartbeat = False

    def frame(self, notification: Notification, encoding: str) -> bytes:
        """Return the event's bytes as one HTTP chunk."""
        return chunk(encode_shared(frame(notification), encoding))

    def opening(self, replay: Replay) -> bytes:
        """Return the prelude with the client's position, followed by the gap if there is one.

        The prelude also carries a reconnection delay, randomised per client, because a server that is killed cannot
        send one at the end.
        """
        position = self._broker.position()
        if replay.gap is not None:
            # The position before the gap: a client that breaks off between prelude and gap must learn of the gap later.
            position = Position(position.epoch, replay.gap.first - 1)
        elif replay.notifications:
            position = Position(position.epoch, replay.notifications[0].offset - 1)
        wait_ms = jittered_retry_ms(self._retry_ms, chance=random.random())
        prelude = encode_prelude(retry_ms=wait_ms, id=str(position))
        if replay.gap is None:
            return prelude
        gap = replay.gap
        return prelude + encode_event(event=EVENT_GAP, data=encode_json(gap.wire()), id=str(gap.position))

    def closing_event(self) -> bytes:
        """Return the end of a stream that we close: a reconnection delay, spread at random over the clients."""
        return encode_retry(spread_retry_ms(self._retry_ms, chance=random.random()))

    def open(
        self, wanted: Filter, since: Position | None, environ: dict[str, Any], head: bytes, encoding: str
    ) -> None:
        """Detach an admitted request's connection from the WSGI server, respond on it, and subscribe it."""
        address = address_of(environ)
        try:
            taken = take_over(environ, self._socket_options)
        except OSError:  # No descriptor left.
            self.admission.leave(address)
            raise
        connection = SseConnection(self, wanted, taken, head, address, encoding)
        connection.open()  # Before subscribing: the replay may fill the socket, or the client may have left.
        self.fanout.subscribe(connection, since)
        if taken.rest:
            connection.on_data(taken.rest)
        if not self._has_heartbeat:
            self._has_heartbeat = True
            self.fanout.flusher.loop.call_at(clock.monotonic_us(), self._send_heartbeats)

    def _send_heartbeats(self, now_us: int) -> int:
        """Send a heartbeat to every channel that was silent for a whole period; return when to check again.

        A heartbeat carries the position, so that a client whose topics were silent resumes from now. It also detects
        clients that vanished without closing their connections.
        """
        period_us = round(self._heartbeat_s * 1_000_000)
        next_us = now_us + period_us
        for channel in self.fanout.channels(TRANSPORT_SSE):
            if now_us - channel.appended_us >= period_us:
                # Under the broker's lock: the position must not overtake a notification on its way to the channel.
                self._broker.attach(
                    None,
                    channel.wanted,
                    lambda _, channel=channel: self._append_heartbeat(channel),  # type: ignore[misc]
                )
            else:
                next_us = min(next_us, channel.appended_us + period_us)
        self.fanout.flusher.write()
        return next_us

    def _append_heartbeat(self, channel: FilteredChannel) -> None:
        heartbeat = encode_comment("heartbeat", id=str(self._broker.position()))
        self.fanout.append(channel, chunk(encode_shared(heartbeat, channel.encoding)))

    def send(self, notification: Notification, connections: Sequence[SseQueue]) -> None:
        """Frame a notification once and queue it for every connection. A slow consumer is cut off."""
        plain = frame(notification)
        pieces = {FORM_PLAIN: plain}
        for connection in connections:
            if connection.queue.qsize() >= self._queue_max:
                self.fanout.unsubscribe(connection, CLOSED_SLOW)
                connection.end(CLOSED_SLOW)
            else:
                if connection.encoding not in pieces:
                    pieces[connection.encoding] = encode_shared(plain, connection.encoding)
                connection.queue.put(pieces[connection.encoding])

    def frame_notice(self, event: str, json: str, encoding: str) -> bytes:
        """Return an event without an id, as one HTTP chunk."""
        return chunk(encode_shared(encode_notice(event=event, data=json), encoding))

    def send_notice(self, event: str, json: str, connections: Sequence[SseQueue]) -> None:
        """Queue an event without an id for every connection."""
        notice = encode_notice(event=event, data=json)
        for connection in connections:
            connection.queue.put(encode_shared(notice, connection.encoding))

    def open_queue(
        self, wanted: Filter, since: Position | None, environ: dict[str, Any], encoding: str
    ) -> SseQueue:
        """Subscribe a request's connection by way of a queue, leaving it with the WSGI server (stock path)."""
        sock = peer_socket(environ)
        set_options(sock, self._socket_options)
        connection = SseQueue(self, wanted, sock, address_of(environ), encoding)
        self.fanout.subscribe(connection, since)
        connection.watch(self.fanout.flusher.loop)
        return connection

    def stream(self, connection: SseQueue) -> Iterator[bytes]:
        """Yield the body of the stock response: queued pieces as they come, and heartbeats in the pauses."""
        yield from connection.opening()
        while True:
            try:
                piece = connection.queue.get(timeout=self._heartbeat_s)
            except queue.Empty:
                position = self._broker.position()
                if not connection.queue.empty():
                    continue  # Published while this thread woke: the position must not overtake it.
                piece = encode_single(encode_comment("heartbeat", id=str(position)), connection.encoding)
            if piece is None:
                return
            yield piece

    def closed(self, connection: SseQueue) -> None:
        """Clean up after a stock response, whichever side ended it."""
        connection.forget(self.fanout.flusher.loop)
        self.fanout.unsubscribe(connection, CLOSED_BY_CLIENT)
        self.admission.leave(connection.address)


def make(_app: flask.Flask, parts: ServerParts) -> SseTransport:
    """Make the transport of a server."""
    settings = parts.settings
    return SseTransport(
        parts.fanout,
        parts.broker,
        parts.admission,
        socket_options=socket_options(settings),
        retry_ms=settings.retry_ms,
        heartbeat_s=settings.heartbeat_s,
        queue_max=settings.queue_notifications_max,
    )


def encode_opening(opening: bytes, encoding: str) -> bytes:
    """Return the encoded opening of a stream of `encoding`."""
    return GZIP_HEAD + stored(opening) if encoding == FORM_DEFLATED else opening


def replay_frames(notifications: Sequence[Notification], encoding: str) -> Iterator[bytes]:
    """Yield the encoded events of a replay, several to a piece."""
    pieces: list[bytes] = []
    size = 0
    for notification in notifications:
        pieces.append(frame(notification))
        size += len(pieces[-1])
        if size >= REPLAY_WRITE_BYTES:
            yield encode_single(b"".join(pieces), encoding)
            pieces, size = [], 0
    if pieces:
        yield encode_single(b"".join(pieces), encoding)
