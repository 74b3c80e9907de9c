"""Outgoing packets of an Engine.IO session: held back, waiting, or passed to its WebSocket.

send() ---> _held      while a Socket.IO connect handler runs, because CONNECT must come first
       ---> _waiting   while there is no WebSocket: until the client polls or has upgraded
       ---> channel    the established WebSocket
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from engineio import packet
from engineio.packet import Packet

from app.core.notification import utf8_bytes
from app.server.transports.socket_io.engine.host import SessionHost, Upgrade
from app.server.transports.socket_io.engine.limits import POLL_BYTES_MAX
from app.server.transports.socket_io.engine.waiter import Waiter


class PacketChannel(Protocol):
    """A WebSocket as a session sees it. Its methods neither block nor raise, even after the connection has ended."""

    def send_packet(self, pkt: Packet) -> None:
        """Write one packet as one message, after those before it."""
        ...

    def close(self) -> None:
        """Write what is queued and a close frame, then end the connection."""
        ...

    def cut(self) -> None:
        """End the connection at once, because the client does not read."""
        ...

    @property
    def waiting_count(self) -> int:
        """Return how many packets are queued in the channel itself."""
        ...


class Outgoing:
    """The outgoing side of a session. Packets reach the client in the order of `send`, across an upgrade too.

    The server's lock guards it, and is never held during a call of a channel.
    """

    __slots__ = (
        "_held",
        "_waiter",
        "_waiting",
        "channel",
        "closed",
        "closing",
        "connected",
        "server",
        "upgrade_attempt",
        "upgraded",
    )

    def __init__(self, server: SessionHost) -> None:
        self.server = server
        self.channel: PacketChannel | None = None
        """The established WebSocket; once set, it is the session's only transport."""
        self.upgrade_attempt: Upgrade | None = None
        """A WebSocket that may take the place of polling, while it is being probed."""
        self.connected = self.upgraded = self.closing = self.closed = False
        self._waiting: list[Packet] | None = None
        self._held: list[Packet] | None = None
        self._waiter: Waiter | None = None
        """The poll that waits for packets."""

    @property
    def is_polled(self) -> bool:
        """Return whether a poll waits for packets."""
        return self._waiter is not None

    @property
    def has_waiting(self) -> bool:
        """Return whether the next poll would be answered at once."""
        return self._waiting is not None

    @property
    def waiting_count(self) -> int:
        """Return how many packets the client has not taken yet."""
        channel = self.channel
        return len(self._waiting or ()) + (channel.waiting_count if channel is not None else 0)

    def send(self, pkt: Packet) -> None:
        """Send a packet, or keep it until it can be sent. After the session's end it is dropped."""
        with self.server.lock:
            if self.closed:
                return
            if self._held is not None and pkt.packet_type == packet.MESSAGE:
                self._held.append(pkt)
                return
            channel = self.channel
            if channel is None:
                self._add_waiting(pkt)
                return
        channel.send_packet(pkt)

    def hold(self) -> None:
        """Hold back what is sent from now on."""
        with self.server.lock:
            self._held = []

    def release(self, first: Packet | None, *, unless: Callable[[Packet], bool]) -> None:
        """Send `first`, then what was held back, including what comes meanwhile, except packets for which `unless` holds."""
        batch = [] if first is None else [first]
        while True:
            for pkt in batch:
                self._send_now(pkt)
            with self.server.lock:
                if not self._held:
                    self._held = None
                    return
                batch, self._held = [pkt for pkt in self._held if not unless(pkt)], []

    def attach(self, channel: PacketChannel, opening: Packet | None = None) -> None:
        """Make the WebSocket the session's transport: it sends `opening`, then what waits, then everything else."""
        if opening is not None:
            channel.send_packet(opening)
        while True:
            with self.server.lock:
                batch, self._waiting = self._waiting or (), None
                if not batch:
                    self.connected = self.upgraded = True
                    self.upgrade_attempt = None
                    if not self.closing:
                        self.channel = channel
                    self._wake()  # Ends a poll that came too late.
                    break
            for pkt in batch:
                channel.send_packet(pkt)
        if self.closing:
            channel.close()

    def _send_now(self, pkt: Packet) -> None:
        with self.server.lock:
            if self.closed:
                return
            channel = self.channel
            if channel is None:
                self._add_waiting(pkt)
                return
        channel.send_packet(pkt)

    def _add_waiting(self, pkt: Packet) -> None:
        if self._waiting is None:
            self._waiting = []
        self._waiting.append(pkt)
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None:
            self._waiter.wake()

    def _take_waiting(self) -> list[Packet]:
        """Remove and return the packets for one poll's response."""
        waiting, count, size = self._waiting or [], 0, 0
        while count < len(waiting) and size < POLL_BYTES_MAX:
            data = waiting[count].data
            size += utf8_bytes(data) if isinstance(data, str) else len(data) if isinstance(data, bytes) else 0
            count += 1
        taken = waiting[:count]
        del waiting[:count]
        self._waiting = waiting or None
        return taken
