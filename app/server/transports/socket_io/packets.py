"""Cache of replay packets for clients that poll or have a queue: all clients share one packet per notification."""

from __future__ import annotations

from collections import OrderedDict

from engineio import packet as engineio_packet
from socketio import packet as protocol

from app.core.notification import Notification, WireJSON, utf8_bytes
from app.core.wire import EVENT_NOTIFICATION
from app.server.transports.socket_io.frames import NAMESPACE

PACKETS_BYTES_MAX = 32 * 1024 * 1024
"""Upper bound of the cache: the size of both history rings by default. Beyond it the least recently used packet goes."""

PACKET_BYTES = 500
"""Approximate size of a packet without its text."""


class ReplayPackets:
    """A least recently used cache of packets by notification. Callers hold the broker's lock."""

    def __init__(self, *, bytes_max: int = PACKETS_BYTES_MAX) -> None:
        self._bytes_max = bytes_max
        self._packets: OrderedDict[tuple[str, bool], engineio_packet.Packet] = OrderedDict()
        """Packets by notification id and whether the id is in the packet; the most recently used one is last."""
        self.bytes = 0
        """Approximate total size. History has other bounds, so a cached packet may outlive its notification."""

    def __len__(self) -> int:
        return len(self._packets)

    def get(self, notification: Notification, *, recovers: bool) -> engineio_packet.Packet:
        """Return the shared Engine.IO packet of a notification; `recovers` appends the notification's id."""
        key = notification.id, recovers
        found = self._packets.get(key)
        if found is not None:
            self._packets.move_to_end(key)
            return found
        made = self._packets[key] = _packet(notification, recovers=recovers)
        self.bytes += _bytes_of(made)
        while self.bytes > self._bytes_max:
            _key, oldest = self._packets.popitem(last=False)
            self.bytes -= _bytes_of(oldest)
        return made


def _packet(notification: Notification, *, recovers: bool) -> engineio_packet.Packet:
    arguments = (notification.json, notification.id) if recovers else (notification.json,)
    event = protocol.Packet(protocol.EVENT, data=[EVENT_NOTIFICATION, *arguments], namespace=NAMESPACE)
    event.json = WireJSON
    return engineio_packet.Packet(engineio_packet.MESSAGE, event.encode())


def _bytes_of(packet: engineio_packet.Packet) -> int:
    return PACKET_BYTES + 2 * utf8_bytes(packet.data)  # Twice: the library caches the encoded form too.
