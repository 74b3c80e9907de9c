"""Who is connected, and who of them gets a notification: one piece of code for all transports.

    broker --deliver--> Fanout --frame, once per form--> audiences --> sockets       (direct)
                               --send, once per transport--> queues --> green threads (stock)

Transports differ in framing only. Connections that were taken over from the WSGI server share the bytes of their
audience: everyone of one transport, form and choice of topics. Others get what the libraries' plain way is: a queue
and a green thread each, bounded by us because the libraries do not bound them.
"""

from __future__ import annotations

import itertools
import logging
from collections import Counter
from collections.abc import Sequence
from typing import Protocol, cast

from app import clock
from app.core.notification import Notification
from app.core.position import Position
from app.core.protocol.deflate import DEFLATED, PLAIN
from app.core.wire import EVENT_SERVICE, TRANSPORTS
from app.server.broker.base import Broker, Filter, Replay
from app.server.fanout.channel import Channel
from app.server.fanout.closed import CLOSED, CLOSED_DRAIN, CLOSED_HISTORY, CLOSED_SLOW, Closed
from app.server.fanout.connection import DetachedConnection, JoinedChannel
from app.server.fanout.flusher import Flusher
from app.server.fanout.recorder import Recorder

logger = logging.getLogger("siar.fanout")


class Connection(Protocol):
    """One subscriber's open connection, as a transport made it."""

    @property
    def wanted(self) -> Filter:
        """What it is to get."""
        ...

    def start(self, replay: Replay) -> None:
        """Take what was missed; called once, before anything live."""
        ...

    def end(self, reason: Closed) -> None:
        """End it from our side. Must not block."""
        ...


class Framing(Protocol):
    """A transport's part of a broadcast."""

    def frame(self, notification: Notification, form: str) -> bytes:
        """The bytes of a notification, the same for every connection of `form`."""
        ...

    def send(self, notification: Notification, connections: Sequence[Connection]) -> None:
        """The stock way: hand it to each. Must not block, must not raise for a connection that left."""
        ...

    def frame_notice(self, event: str, json: str, form: str) -> bytes:
        """The bytes of an event that is no notification and moves nobody's position, for connections of `form`."""
        ...

    def send_notice(self, event: str, json: str, connections: Sequence[Connection]) -> None:
        """The same in the stock way."""
        ...


class FilteredChannel(Channel):
    """The connections that get the same bytes."""

    __slots__ = ("form", "wanted")

    def __init__(self, wanted: Filter, form: str) -> None:
        super().__init__()
        self.wanted = wanted
        """Transport and topics; a device is looked at for each of them."""
        self.form = form
        """Which of the transport's framings."""


class Fanout:
    """The connections of this process. All methods may be called from any thread."""

    def __init__(self, broker: Broker, broadcaster: Flusher) -> None:
        self._broker = broker
        self.broadcaster = broadcaster
        self._framings: dict[str, Framing] = {}
        self._names = TRANSPORTS
        """Who is counted, at zero too."""
        self._stock: dict[Connection, int] = {}
        """Since when, in the order in which they came: so they are served."""
        self._groups: dict[tuple[Filter, str], FilteredChannel] = {}
        self._recordings: dict[str, Recorder] = {}
        """Where it is noted when the kernel took what, by transport."""
        self._lock = broadcaster.lock
        self._rotation = itertools.count()
        self.closed: dict[tuple[str, Closed], int] = {}
        """Ended connections by (transport, reason)."""
        self.sent: dict[str, int] = {}
        """Deliveries handed to connections, by transport."""
        for name in self._names:
            self._count_from_zero(name)
        broker.listen(self.deliver)
        broker.watch(self)

    def register(self, transport: str, framing: Framing) -> None:
        """Make a transport known by its name."""
        self._framings[transport] = framing
        if transport not in self._names:
            self._names = (*self._names, transport)
            self._count_from_zero(transport)

    def subscribe(self, connection: Connection, since: Position | None, form: str = "") -> None:
        """From here on `connection` gets what it wants: the missed first, then everything live, nothing twice.

        `form` names the framing where the transport has several. An `DetachedConnection` joins those that get the same bytes.
        """

        def start(replay: Replay) -> None:
            with self._lock:
                connection.start(replay)
                if isinstance(connection, DetachedConnection):
                    if not connection.is_open:
                        return  # It left while it was answered: nobody would count it out again.
                    connection.join(self._group(connection.wanted, form))
                else:
                    self._stock[connection] = clock.now_us()

        self._broker.attach(since, connection.wanted, start)

    def move(self, connection: Connection, outlet: DetachedConnection, form: str) -> None:
        """A subscribed connection has become an `outlet`: nothing is missed and nothing comes twice."""

        def change(_replay: Replay) -> None:
            with self._lock:
                if connection in self._stock and outlet.is_open:
                    del self._stock[connection]
                    outlet.join(self._group(connection.wanted, form))

        self._broker.attach(None, connection.wanted, change)

    def unsubscribe(self, connection: Connection, reason: Closed) -> None:
        """Forget a connection; only the first reason counts."""
        with self._lock:
            if isinstance(connection, DetachedConnection):
                group = connection.audience
                connection.leave()
                if group is None:
                    return
                self._drop_if_empty(group)
            elif self._stock.pop(connection, None) is None:
                return
            self.closed[connection.wanted.transport, reason] += 1
        if reason == CLOSED_SLOW:
            logger.info("A %s client was cut off: it does not read.", connection.wanted.transport)

    def deliver(self, notifications: Sequence[Notification]) -> list[dict[str, int]]:
        """Hand each notification to every connection that it matches; return how many, by transport.

        What comes together joins the streams together, and is written to each connection at once.
        """
        counted = [dict.fromkeys(self._names, 0) for _ in notifications]
        # One number for both ways: with every second one only, some would never be first.
        turns = [next(self._rotation) for _ in notifications]
        with self._lock:
            for notification, counts, turn in zip(notifications, counted, turns, strict=True):
                self._deliver_direct(notification, counts, turn)
        self.broadcaster.write()
        for notification, counts, turn in zip(notifications, counted, turns, strict=True):
            self._deliver_stock(notification, counts, turn)
            for transport, count in counts.items():
                self.sent[transport] += count
        return counted

    def on_broken(self) -> None:
        """Nobody steps over a hole in silence: everyone comes back with their position, and is told."""
        for connection, _since_us in self.connections():
            self.cut(connection, CLOSED_HISTORY)

    def on_away(self, *, is_away: bool) -> None:
        """Tell everyone that nothing can be published for now, or again. They stay."""
        json = '{"state":"away"}' if is_away else '{"state":"back"}'
        with self._lock:
            for group in list(self._groups.values()):
                framing = self._framings[group.wanted.transport]
                self.broadcaster.append(group, framing.frame_notice(EVENT_SERVICE, json, group.form))
            for transport, framing in self._framings.items():
                stock = [each for each in self._stock if each.wanted.transport == transport]
                if stock:
                    framing.send_notice(EVENT_SERVICE, json, stock)
        self.broadcaster.write()

    def append(self, group: FilteredChannel, frame: bytes) -> None:
        """Bytes that are no notification (a heartbeat) for everyone of a group."""
        with self._lock:
            self.broadcaster.append(group, frame)

    def groups(self, transport: str) -> list[FilteredChannel]:
        """The groups of a transport."""
        with self._lock:
            return [group for group in self._groups.values() if group.wanted.transport == transport]

    def record(self, transport: str, recording: Recorder | None) -> None:
        """Note in `recording` what the kernel takes for a transport's groups, present and future; `None` ends it."""
        with self._lock:
            self._recordings.pop(transport, None)
            if recording is not None:
                self._recordings[transport] = recording
            for group in self.groups(transport):
                group.recording = recording
                if recording is not None:
                    for outlet in group.members:
                        recording.joined(group, outlet)

    def counts(self) -> dict[str, int]:
        """Open connections by transport."""
        with self._lock:
            found = Counter(connection.wanted.transport for connection in self._stock)
            for group in self._groups.values():
                found[group.wanted.transport] += len(group.members)
        return {name: found[name] for name in self._names}

    def paths(self) -> dict[tuple[str, str], int]:
        """Open connections by (transport, path), the path being `direct` or `stock`."""
        with self._lock:
            found = Counter((connection.wanted.transport, "stock") for connection in self._stock)
            for group in self._groups.values():
                found[group.wanted.transport, "direct"] += len(group.members)
        return dict(found)

    def codings(self, transport: str, topic: str) -> set[str]:
        """What is done with the bytes of those who asked for a topic by its name: `plain`, `deflated`."""

        def asked(wanted: Filter) -> bool:
            return wanted.transport == transport and wanted.topics is not None and topic in wanted.topics

        with self._lock:
            found = [group.form.endswith(DEFLATED) for group in self._groups.values() if asked(group.wanted)]
            found += [getattr(each, "is_deflated", False) for each in self._stock if asked(each.wanted)]
        return {DEFLATED if each else PLAIN for each in found}

    def connections(self) -> list[tuple[Connection, int]]:
        """Everyone, and since when (server time base)."""
        with self._lock:
            found = list(self._stock.items())
            for group in self._groups.values():
                found += cast(list[tuple[Connection, int]], list(group.members.items()))
        return found

    def drain(self) -> None:
        """End every connection from our side; they come back to whoever serves next."""
        for connection, _since_us in self.connections():
            self.cut(connection, CLOSED_DRAIN)

    def cut(self, connection: Connection, reason: Closed) -> None:
        """End a connection from our side, behind what waits for it."""
        if isinstance(connection, DetachedConnection):
            connection.end(reason)  # First: who does not read a stream any more gets nothing more of it.
            return  # It has counted itself out, as at every end.
        self.unsubscribe(connection, reason)
        connection.end(reason)

    def _count_from_zero(self, transport: str) -> None:
        """Have a number for whatever is counted of a transport before it happens: alerts look at what is added."""
        self.sent[transport] = 0
        self.closed |= dict.fromkeys(((transport, reason) for reason in CLOSED), 0)

    def _group(self, wanted: Filter, form: str) -> FilteredChannel:
        shared = Filter(wanted.transport, wanted.topics)
        found = self._groups.get((shared, form))
        if found is None:
            found = self._groups[shared, form] = FilteredChannel(shared, form)
            found.recording = self._recordings.get(shared.transport)
        return found

    def _drop_if_empty(self, group: JoinedChannel) -> None:
        assert isinstance(group, FilteredChannel)
        if not group.members:
            self._groups.pop((group.wanted, group.form), None)

    def _deliver_direct(self, notification: Notification, counts: dict[str, int], turn: int) -> None:
        frames: dict[tuple[str, str], bytes] = {}
        devices = notification.targets.devices
        groups = list(self._groups.values())
        first = turn % len(groups) if groups else 0
        for group in groups[first:] + groups[:first]:
            if not group.wanted.covers(notification):
                continue
            transport = group.wanted.transport
            key = (transport, group.form)
            if key not in frames:
                frames[key] = self._framings[transport].frame(notification, group.form)
            if devices is None:
                counts[transport] += len(group.members)
                self.broadcaster.append(group, frames[key])
                if group.recording is not None:
                    group.recording.mark(group, notification.offset)
            else:
                for member in list(group.members):
                    if member.wanted.device in devices:  # type: ignore[attr-defined]
                        member.write_in_order(frames[key])
                        counts[transport] += 1

    def _deliver_stock(self, notification: Notification, counts: dict[str, int], turn: int) -> None:
        with self._lock:
            stock = self._matching_stock(notification)
        for transport, connections in stock.items():
            first = turn % len(connections)
            self._framings[transport].send(notification, connections[first:] + connections[:first])
            counts[transport] += len(connections)

    def _matching_stock(self, notification: Notification) -> dict[str, list[Connection]]:
        matching: dict[str, list[Connection]] = {}
        for connection in self._stock:
            if connection.wanted.matches(notification):
                matching.setdefault(connection.wanted.transport, []).append(connection)
        return matching
