"""The packets of what was missed, for who polls or has a queue: shared, so that nobody's history is a copy."""

from __future__ import annotations

from collections import OrderedDict

from engineio import packet as engineio_packet
from socketio import packet as protocol

from app.core.notification import Notification, WireJSON, utf8_bytes
from app.core.wire import EVENT_NOTIFICATION
from app.server.transports.socket_io.frames import NAMESPACE

PACKETS_BYTES_MAX = 32 * 1024 * 1024
"""As much as both rings of history hold by default. Beyond it the packet that was asked for longest ago is made anew."""

PACKET_BYTES = 500
"""About what one takes beside its text."""


class MissedPackets:
    """Packets by notification. Callers hold the broker's lock."""

    def __init__(self, *, bytes_max: int = PACKETS_BYTES_MAX) -> None:
        self._bytes_max = bytes_max
        self._packets: OrderedDict[tuple[str, bool], engineio_packet.Packet] = OrderedDict()
        """By id, and whether it is the second argument; who was asked for last at the end."""
        self.bytes = 0
        """What they take, about. History has other bounds, and may have dropped a notification whose packet is here."""

    def __len__(self) -> int:
        return len(self._packets)

    def of(self, notification: Notification, *, recovers: bool) -> engineio_packet.Packet:
        """The Engine.IO packet of a notification, the same object for everyone; `recovers`: with its id behind it."""
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
    return PACKET_BYTES + 2 * utf8_bytes(packet.data)  # The library remembers the encoded form beside it.
