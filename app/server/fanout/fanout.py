"""The fan-out decides which connections get a notification; one implementation for all transports.

    broker --deliver--> Fanout --frame, once per encoding--> channels --> sockets        (direct)
                               --send, once per transport--> queues --> green threads    (stock)

Transports differ in framing only. Detached connections share the bytes of their channel: all of one transport,
encoding and choice of topics. Other connections use the libraries' stock way: a queue and a green thread each. Those
queues are bounded here, because the libraries do not bound them.
"""

from __future__ import annotations

import itertools
import logging
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from app import clock
from app.core.notification import Notification
from app.core.position import Position
from app.core.protocol.deflate import DEFLATED, PLAIN
from app.core.wire import EVENT_SERVICE
from app.server.broker.base import Broker, Filter, Replay
from app.server.fanout.channel import Channel
from app.server.fanout.closed import CLOSED, CLOSED_DRAIN, CLOSED_HISTORY, CLOSED_SLOW, Closed
from app.server.fanout.connection import DetachedConnection
from app.server.fanout.flusher import Flusher
from app.server.fanout.framing import Connection, Framing
from app.server.fanout.recorder import Recorder

logger = logging.getLogger("siar.fanout")


class FilteredChannel(Channel):
    """The connections of one transport, choice of topics and encoding, which get the same bytes."""

    __slots__ = ("_forget", "encoding", "wanted")

    def __init__(self, wanted: Filter, encoding: str, *, forget: Callable[[], object]) -> None:
        super().__init__()
        self._forget = forget
        """Removes the channel from the fan-out."""
        self.wanted = wanted
        """Transport and topics; targeted devices are matched per connection."""
        self.encoding = encoding
        """The transport's encoding, where it has several."""

    def forget_if_empty(self) -> None:
        """Remove the channel from the fan-out if its last member has left."""
        if not self.members:
            self._forget()


class Fanout:
    """The subscriptions of this process. All methods may be called from any thread."""

    def __init__(self, broker: Broker, flusher: Flusher) -> None:
        self._broker = broker
        self.flusher = flusher
        self._framings: dict[str, Framing[Any]] = {}
        """The registered transports by name, each with counters that begin at zero."""
        self._stock: dict[Connection, int] = {}
        """Stock connections in the order of subscribing, and the time of it (server time base)."""
        self._channels: dict[tuple[Filter, str], FilteredChannel] = {}
        self._recorders: dict[str, Recorder] = {}
        """The active recorder of each transport."""
        self._lock = flusher.lock
        self._rotation = itertools.count()
        self.closed: dict[tuple[str, Closed], int] = {}
        """Count of ended connections by (transport, reason)."""
        self.sent: dict[str, int] = {}
        """Count of deliveries handed to connections, by transport."""
        broker.listen(self.deliver)
        broker.watch(self)

    def register(self, transport: str, framing: Framing[Any]) -> None:
        """Register a transport under its name, and start its counters at zero.

        Alerts evaluate increases, and a missing series has none.
        """
        self._framings[transport] = framing
        self.sent.setdefault(transport, 0)
        for reason in CLOSED:
            self.closed.setdefault((transport, reason), 0)

    def subscribe(self, connection: Connection, since: Position | None) -> None:
        """Begin a subscription: the replay first, then everything live, without loss or duplicates.

        A detached connection joins the channel of its topics and encoding.
        """

        def start(replay: Replay) -> None:
            with self._lock:
                connection.start(replay)
                detached = connection.detached
                if detached is None:
                    self._stock[connection] = clock.now_us()
                elif detached.is_open:  # If the replay closed it, `unsubscribe` is not called again.
                    detached.join(self._channel_for(connection.wanted, connection.encoding))

        self._broker.attach(since, connection.wanted, start)

    def move(self, stock: Connection, detached: DetachedConnection) -> None:
        """Replace a subscribed connection by a detached one: no notification is lost and none comes twice."""

        def change(_replay: Replay) -> None:
            with self._lock:
                if stock in self._stock and detached.is_open:
                    del self._stock[stock]
                    detached.join(self._channel_for(stock.wanted, detached.encoding))

        self._broker.attach(None, stock.wanted, change)

    def unsubscribe(self, connection: Connection, reason: Closed) -> None:
        """End a subscription; only the first reason counts."""
        with self._lock:
            detached = connection.detached
            if detached is not None:
                channel = detached.channel
                detached.leave()
                if channel is None:
                    return
                channel.forget_if_empty()
            elif self._stock.pop(connection, None) is None:
                return
            self.closed[connection.wanted.transport, reason] += 1
        if reason == CLOSED_SLOW:
            logger.info("A %s client was cut off: it does not read.", connection.wanted.transport)

    def deliver(self, notifications: Sequence[Notification]) -> list[dict[str, int]]:
        """Send each notification to all matching connections; return for each their count by transport.

        A batch is appended to the streams as a whole, and each connection gets it in one write.
        """
        counted = [dict.fromkeys(self._framings, 0) for _ in notifications]
        # One number for both ways: if each way had only every second number, some would never be first.
        rotations = [next(self._rotation) for _ in notifications]
        with self._lock:
            for notification, counts, rotation in zip(notifications, counted, rotations, strict=True):
                self._deliver_direct(notification, counts, rotation)
        self.flusher.write()
        for notification, counts, rotation in zip(notifications, counted, rotations, strict=True):
            self._deliver_stock(notification, counts, rotation)
            for transport, count in counts.items():
                self.sent[transport] += count
        return counted

    def on_broken(self) -> None:
        """Disconnect everyone: history has a hole, and each client learns of the gap when it reconnects."""
        for connection, _since_us in self.connections():
            self.cut(connection, CLOSED_HISTORY)

    def on_away(self, *, is_away: bool) -> None:
        """Tell all clients that publishing is unavailable, or available again. They stay connected."""
        json = '{"state":"away"}' if is_away else '{"state":"back"}'
        with self._lock:
            for channel in list(self._channels.values()):
                framing = self._framings[channel.wanted.transport]
                self.flusher.append(channel, framing.frame_notice(EVENT_SERVICE, json, channel.encoding))
            for transport, framing in self._framings.items():
                stock = [each for each in self._stock if each.wanted.transport == transport]
                if stock:
                    framing.send_notice(EVENT_SERVICE, json, stock)
        self.flusher.write()

    def append(self, channel: FilteredChannel, frame: bytes) -> None:
        """Append bytes that are not a notification, such as a heartbeat, to a channel."""
        with self._lock:
            self.flusher.append(channel, frame)

    def channels(self, transport: str) -> list[FilteredChannel]:
        """Return the channels of a transport."""
        with self._lock:
            return [channel for channel in self._channels.values() if channel.wanted.transport == transport]

    def record(self, transport: str, recorder: Recorder | None) -> None:
        """Record the writes of a transport's channels, present and future, in `recorder`; `None` stops it."""
        with self._lock:
            self._recorders.pop(transport, None)
            if recorder is not None:
                self._recorders[transport] = recorder
            for channel in self.channels(transport):
                channel.recorder = recorder
                if recorder is not None:
                    for connection in channel.members:
                        recorder.joined(channel, connection)

    def counts(self) -> dict[str, int]:
        """Return the count of open connections by transport."""
        with self._lock:
            found = Counter(connection.wanted.transport for connection in self._stock)
            for channel in self._channels.values():
                found[channel.wanted.transport] += len(channel.members)
        return {name: found[name] for name in self._framings}

    def paths(self) -> dict[tuple[str, str], int]:
        """Return the count of open connections by (transport, path), where path is `direct` or `stock`."""
        with self._lock:
            found = Counter((connection.wanted.transport, "stock") for connection in self._stock)
            for channel in self._channels.values():
                found[channel.wanted.transport, "direct"] += len(channel.members)
        return dict(found)

    def codings(self, transport: str, topic: str) -> set[str]:
        """Return the content codings (`plain`, `deflated`) of connections that subscribe to a topic by name."""

        def names_topic(wanted: Filter) -> bool:
            return wanted.transport == transport and wanted.topics is not None and topic in wanted.topics

        with self._lock:
            found = [
                channel.encoding.endswith(DEFLATED)
                for channel in self._channels.values()
                if names_topic(channel.wanted)
            ]
            found += [each.encoding.endswith(DEFLATED) for each in self._stock if names_topic(each.wanted)]
        return {DEFLATED if each else PLAIN for each in found}

    def connections(self) -> list[tuple[Connection, int]]:
        """Return all connections and when each subscribed (server time base)."""
        with self._lock:
            found = list(self._stock.items())
            for channel in self._channels.values():
                found += channel.members.items()
        return found

    def drain(self) -> None:
        """End every connection from our side; the clients reconnect to the next server process."""
        for connection, _since_us in self.connections():
            self.cut(connection, CLOSED_DRAIN)

    def cut(self, connection: Connection, reason: Closed) -> None:
        """End a connection from our side, after what waits for it."""
        if connection.detached is None:
            self.unsubscribe(connection, reason)
        # A detached connection leaves its channel here, and its `on_closed` calls `unsubscribe`, as at every end.
        connection.end(reason)

    def _channel_for(self, wanted: Filter, encoding: str) -> FilteredChannel:
        shared = Filter(wanted.transport, wanted.topics)
        key = (shared, encoding)
        found = self._channels.get(key)
        if found is None:
            found = FilteredChannel(shared, encoding, forget=lambda: self._channels.pop(key, None))
            found.recorder = self._recorders.get(shared.transport)
            self._channels[key] = found
        return found

    def _deliver_direct(self, notification: Notification, counts: dict[str, int], rotation: int) -> None:
        frames: dict[tuple[str, str], bytes] = {}
        devices = notification.targets.devices
        channels = list(self._channels.values())
        first = rotation % len(channels) if channels else 0
        for channel in channels[first:] + channels[:first]:
            if not channel.wanted.covers(notification):
                continue
            transport = channel.wanted.transport
            key = (transport, channel.encoding)
            if key not in frames:
                frames[key] = self._framings[transport].frame(notification, channel.encoding)
            if devices is None:
                counts[transport] += len(channel.members)
                self.flusher.append(channel, frames[key])
                if channel.recorder is not None:
                    channel.recorder.mark(channel, notification.offset)
            else:
                for member in list(channel.members):
                    if member.wanted.device in devices:
                        member.write_in_order(frames[key])
                        counts[transport] += 1

    def _deliver_stock(self, notification: Notification, counts: dict[str, int], rotation: int) -> None:
        with self._lock:
            stock = self._matching_stock(notification)
        for transport, connections in stock.items():
            first = rotation % len(connections)
            self._framings[transport].send(notification, connections[first:] + connections[:first])
            counts[transport] += len(connections)

    def _matching_stock(self, notification: Notification) -> dict[str, list[Connection]]:
        matching: dict[str, list[Connection]] = {}
        for connection in self._stock:
            if connection.wanted.matches(notification):
                matching.setdefault(connection.wanted.transport, []).append(connection)
        return matching
