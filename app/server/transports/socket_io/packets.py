"""Cache of replay packets for clients that poll or have a queue: all clients share one packet per notification."""

from __future__ import annotations

from collections import OrderedDict

from engineio.packet import Packet

from app.core.notification import Notification, utf8_bytes
from app.core.wire import EVENT_NOTIFICATION
from app.server.transports.socket_io.engine.packets import message
from app.server.transports.socket_io.frames import FORM_PLAIN, FORM_RECOVERING, event_text

PACKETS_BYTES_MAX = 32 * 1024 * 1024
"""Upper bound of the cache: the size of both history rings by default. Beyond it the least recently used packet goes."""

PACKET_BYTES = 500
"""Approximate size of a packet without its text."""


class ReplayPackets:
    """A least recently used cache of packets by notification. Callers hold the broker's lock."""

    def __init__(self, *, bytes_max: int = PACKETS_BYTES_MAX) -> None:
        self._bytes_max = bytes_max
        self._packets: OrderedDict[tuple[str, bool], Packet] = OrderedDict()
        """Packets by notification id and whether the id is in the packet; the most recently used one is last."""
        self.bytes = 0
        """Approximate total size. History has other bounds, so a cached packet may outlive its notification."""

    def __len__(self) -> int:
        return len(self._packets)

    def get(self, notification: Notification, *, recovers: bool) -> Packet:
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


def _packet(notification: Notification, *, recovers: bool) -> Packet:
    # Not by the library's encoder: all of history is framed in one piece, and it would take six times as long (measured).
    form = FORM_RECOVERING if recovers else FORM_PLAIN
    return message(event_text(EVENT_NOTIFICATION, notification.json, notification.id, form=form))


def _bytes_of(packet: Packet) -> int:
    return PACKET_BYTES + 2 * utf8_bytes(packet.data)  # Twice: the library caches the encoded form too.
