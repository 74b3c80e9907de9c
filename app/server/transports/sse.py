"""Server-Sent Events: one HTTP response that does not end (WHATWG HTML, section 9.2).

request -> taken over from the WSGI server -> an outlet: no thread, no queue                (direct)
        -> a queue, on which the server's green thread for the request sleeps               (stock)

On the direct path each frame is a chunk (RFC 9112, section 7.1) and is shared as such; on the stock path chunks are the
WSGI server's business.
"""

from __future__ import annotations

import queue
import random
import socket
from collections.abc import Iterator, Sequence
from typing import Any, cast

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
from app.server.fanout.fanout import Connection, Fanout, FilteredChannel
from app.server.transports.base import REPLAY_WRITE_BYTES
from app.server.wsgi import epoll
from app.server.wsgi.admission import Admission
from app.server.wsgi.loop import Loop
from app.server.wsgi.peer import address_of, cut, peer_socket
from app.server.wsgi.takeover import SocketOptions, Taken, set_options, take_over

UNREAD_BYTES_MAX = 65_536
"""What a client may write behind its request, where nothing is expected."""


FORM_PLAIN = ""
FORM_DEFLATED = DEFLATED
"""Of a stream that was asked for with gzip, and may have it."""


def frame(notification: Notification) -> bytes:
    """The event's bytes, the same for every client."""
    return encode_event(event=EVENT_NOTIFICATION, data=notification.json, id=notification.id)


def coded(data: bytes, form: str) -> bytes:
    """A piece for all streams of `form`."""
    return deflated(data) if form == FORM_DEFLATED else data


def wrapped(data: bytes, form: str) -> bytes:
    """A piece for one stream of `form`: compressing for each would cost as much as there are clients."""
    return stored(data) if form == FORM_DEFLATED else data


class SseConnection(DetachedConnection):
    """A client's stream on a socket of our own."""

    __slots__ = ("_address", "_form", "_head", "_transport", "_unread_bytes", "wanted")

    def __init__(
        self, transport: SseTransport, wanted: Filter, taken: Taken, head: bytes, address: str, form: str
    ) -> None:
        super().__init__(transport.fanout.broadcaster, taken.sock)
        self._form = form
        self._transport = transport
        self._address = address
        self.wanted = wanted
        self._head = head
        self._unread_bytes = 0

    def start(self, replay: Replay) -> None:
        """The response's head, then what the stream begins with."""
        head, self._head = self._head, b""
        missed = map(chunk, frames_of(replay.notifications, self._form)) if replay.notifications else None
        self.write(head + chunk(beginning(self._transport.opening(replay), self._form)), later=missed)

    def end(self, reason: Closed) -> None:
        """End the stream whole, after what waits; a client that does not read is cut off, its stream torn."""
        if reason == CLOSED_SLOW:
            self.drop(reason)
        else:
            self.finish(chunk(wrapped(self._transport.goodbye(), self._form)) + LAST_CHUNK, reason)

    def on_data(self, data: bytes) -> None:
        """Nothing is expected of a client that listens; what comes is dropped, and too much ends the connection."""
        self._unread_bytes += len(data)
        if self._unread_bytes > UNREAD_BYTES_MAX:
            self.drop(CLOSED_BY_CLIENT)

    def on_closed(self, reason: Closed) -> None:
        """Whoever ended it."""
        self._transport.fanout.unsubscribe(self, reason)
        self._transport.admission.leave(self._address)


class SseQueue:
    """The stock way: a client's queue of ready bytes; `None` in it ends the stream."""

    def __init__(
        self, transport: SseTransport, wanted: Filter, sock: socket.socket | None, address: str, form: str
    ) -> None:
        self._transport = transport
        self.form = form
        self._sock = sock
        self.address = address
        self.wanted = wanted
        self._fd = -1
        self.queue: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._opening = b""
        self._missed: tuple[Notification, ...] = ()
        """By reference: a stranger who asks for all of history, many times, must not copy it many times."""

    @property
    def is_deflated(self) -> bool:
        """Whether its bytes are compressed."""
        return self.form == FORM_DEFLATED

    def watch(self, loop: Loop) -> None:
        """Notice a client that leaves; the plain way does so at the next write but one."""
        if self._sock is not None and loop.is_possible:
            self._fd = self._sock.fileno()
            loop.watch(self._fd, self, read=False)

    def forget(self, loop: Loop) -> None:
        """The server is about to close the connection."""
        if self._fd >= 0:
            loop.forget(self._fd)

    def on_events(self, events: int) -> None:
        """The client has left."""
        if events & (epoll.PEER_CLOSED | epoll.HANG_UP | epoll.ERROR):
            self.forget(self._transport.fanout.broadcaster.loop)
            self._fd = -1
            self.queue.put(None)

    def start(self, replay: Replay) -> None:
        """Note what the stream begins with."""
        self._opening = self._transport.opening(replay)
        self._missed = replay.notifications

    def opening(self) -> Iterator[bytes]:
        """What the stream begins with, in writes of a bounded size."""
        missed, self._missed = self._missed, ()
        yield beginning(self._opening, self.form)
        yield from frames_of(missed, self.form)

    def end(self, reason: Closed) -> None:
        """End the stream behind what waits; a client that does not read is cut off."""
        if reason == CLOSED_SLOW:
            cut(self._sock)
        else:
            self.queue.put(wrapped(self._transport.goodbye(), self.form))
        self.queue.put(None)


class SseTransport:
    """The framing of SSE, and how its streams begin, idle and end."""

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
        self._beats = False
        fanout.register(TRANSPORT_SSE, self)

    def frame(self, notification: Notification, form: str) -> bytes:
        """The event's bytes, in a chunk of their own."""
        return chunk(coded(frame(notification), form))

    def opening(self, replay: Replay) -> bytes:
        """What a stream begins with: the prelude with the client's position, and the gap if there is one.

        Told at the beginning when to come back, another moment for each: a server that is killed says no goodbye.
        """
        stands_at = self._broker.position()
        if replay.gap is not None:
            # Before it, not behind: who breaks off between prelude and gap would never be told of the gap.
            stands_at = Position(stands_at.epoch, replay.gap.first - 1)
        elif replay.notifications:
            stands_at = Position(stands_at.epoch, replay.notifications[0].offset - 1)
        wait_ms = jittered_retry_ms(self._retry_ms, chance=random.random())
        prelude = encode_prelude(retry_ms=wait_ms, id=str(stands_at))
        if replay.gap is None:
            return prelude
        gap = replay.gap
        return prelude + encode_event(event=EVENT_GAP, data=encode_json(gap.wire()), id=str(gap.position))

    def goodbye(self) -> bytes:
        """What a stream ends with when we end it: when to come back, another moment for each client."""
        return encode_retry(spread_retry_ms(self._retry_ms, chance=random.random()))

    def open(
        self, wanted: Filter, since: Position | None, environ: dict[str, Any], head: bytes, form: str
    ) -> None:
        """Take a request's connection, which has been admitted, answer on it, and subscribe it."""
        address = address_of(environ)
        try:
            taken = take_over(environ, self._socket_options)
        except OSError:  # No descriptor left.
            self.admission.leave(address)
            raise
        connection = SseConnection(self, wanted, taken, head, address, form)
        connection.open()  # First: the kernel may take less than what was missed, or say that the client has left.
        self.fanout.subscribe(connection, since, form)
        if taken.rest:
            connection.on_data(taken.rest)
        if not self._beats:
            self._beats = True
            self.fanout.broadcaster.loop.call_at(clock.monotonic_us(), self._beat)

    def _beat(self, now_us: int) -> int:
        """A heartbeat for every group that was silent for that long; answers when to look again.

        It carries the position, so that a client whose topics were silent resumes from now, and it is what finds a
        client that left without a word.
        """
        period_us = round(self._heartbeat_s * 1_000_000)
        next_us = now_us + period_us
        for group in self.fanout.groups(TRANSPORT_SSE):
            if now_us - group.appended_us >= period_us:
                # Under the broker's lock: the position must not overtake a notification on its way to the group.
                self._broker.attach(None, group.wanted, lambda _, group=group: self._append_heartbeat(group))  # type: ignore[misc]
            else:
                next_us = min(next_us, group.appended_us + period_us)
        self.fanout.broadcaster.write()
        return next_us

    def _append_heartbeat(self, group: FilteredChannel) -> None:
        heartbeat = encode_comment("heartbeat", id=str(self._broker.position()))
        self.fanout.append(group, chunk(coded(heartbeat, group.form)))

    def send(self, notification: Notification, connections: Sequence[Connection]) -> None:
        """Frame once, queue everywhere; whoever has too much waiting is cut off and resumes from history."""
        plain = frame(notification)
        pieces = {FORM_PLAIN: plain}
        for connection in cast(Sequence[SseQueue], connections):
            if connection.queue.qsize() >= self._queue_max:
                self.fanout.unsubscribe(connection, CLOSED_SLOW)
                connection.end(CLOSED_SLOW)
            else:
                if connection.form not in pieces:
                    pieces[connection.form] = coded(plain, connection.form)
                connection.queue.put(pieces[connection.form])

    def frame_notice(self, event: str, json: str, form: str) -> bytes:
        """An event without an id, in a chunk of its own."""
        return chunk(coded(encode_notice(event=event, data=json), form))

    def send_notice(self, event: str, json: str, connections: Sequence[Connection]) -> None:
        """Queue it everywhere."""
        notice = encode_notice(event=event, data=json)
        for connection in cast(Sequence[SseQueue], connections):
            connection.queue.put(coded(notice, connection.form))

    def open_queue(
        self, wanted: Filter, since: Position | None, environ: dict[str, Any], form: str
    ) -> SseQueue:
        """The same in the stock way, on the server's connection."""
        sock = peer_socket(environ)
        set_options(sock, self._socket_options)
        connection = SseQueue(self, wanted, sock, address_of(environ), form)
        self.fanout.subscribe(connection, since)
        connection.watch(self.fanout.broadcaster.loop)
        return connection

    def stream(self, connection: SseQueue) -> Iterator[bytes]:
        """The stock response's body: what is queued, as it comes, with heartbeats in the pauses."""
        yield from connection.opening()
        while True:
            try:
                piece = connection.queue.get(timeout=self._heartbeat_s)
            except queue.Empty:
                position = self._broker.position()
                if not connection.queue.empty():
                    continue  # published while we woke: the position must not overtake it
                piece = wrapped(encode_comment("heartbeat", id=str(position)), connection.form)
            if piece is None:
                return
            yield piece

    def closed(self, connection: SseQueue) -> None:
        """The client's end of the stock response: whatever ended it."""
        connection.forget(self.fanout.broadcaster.loop)
        self.fanout.unsubscribe(connection, CLOSED_BY_CLIENT)
        self.admission.leave(connection.address)


def beginning(opening: bytes, form: str) -> bytes:
    """What a stream of `form` begins with."""
    return GZIP_HEAD + stored(opening) if form == FORM_DEFLATED else opening


def frames_of(notifications: Sequence[Notification], form: str) -> Iterator[bytes]:
    """The events of what was missed, several to a piece."""
    pieces: list[bytes] = []
    size = 0
    for notification in notifications:
        pieces.append(frame(notification))
        size += len(pieces[-1])
        if size >= REPLAY_WRITE_BYTES:
            yield wrapped(b"".join(pieces), form)
            pieces, size = [], 0
    if pieces:
        yield wrapped(b"".join(pieces), form)
