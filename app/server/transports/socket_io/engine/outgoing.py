"""Outgoing packets of an Engine.IO session: held back, waiting, or passed to its WebSocket.

send() ---> _held      while a Socket.IO connect handler runs, because CONNECT must come first
       ---> _waiting   while there is no WebSocket: until the client polls or has upgraded
       ---> channel    the established WebSocket
poll() <--- _waiting
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from typing import Protocol

from engineio import packet
from engineio.packet import Packet

from app.core.notification import utf8_bytes
from app.server.transports.socket_io.engine.limits import POLL_BYTES_MAX
from app.server.transports.socket_io.engine.packets import CLOSE, NOOP
from app.server.transports.socket_io.engine.waiter import Outcome, Waiter


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


class ConcurrentPoll(Exception):
    """A poll came while another one waits."""


class PollerGone(Exception):
    """The client of a waiting poll has ended its connection. It is unknown which response it saw last [11]."""


class Outgoing:
    """The outgoing side of a session. Packets reach the client in the order of `send`, across an upgrade too.

    `lock` guards it, and is never held during a call of a channel. All sessions of a server share one lock, because thousands
    of them are idle at a time.
    """

    __slots__ = ("_held", "_lock", "_waiter", "_waiting", "channel", "closed", "closing", "upgraded")

    def __init__(self, lock: threading.Lock) -> None:
        self._lock = lock
        self.channel: PacketChannel | None = None
        """The established WebSocket; once set, it is the session's only transport."""
        self.upgraded = False
        """True if a WebSocket has been attached; polls are over."""
        self.closing = False
        """True if no WebSocket is attached any more."""
        self.closed = False
        """True if nothing is sent any more; what waits may still be polled."""
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
        with self._lock:
            if self.closed:
                return
            if self._held is not None and pkt.packet_type == packet.MESSAGE:
                self._held.append(pkt)
                return
            channel = self.channel
            if channel is None:
                self._add_waiting([pkt])
                return
        channel.send_packet(pkt)

    def send_all(self, packets: list[Packet]) -> None:
        """Send messages like `send`, but where they wait for a poll in one step: all of history may be among them."""
        with self._lock:
            if packets and self.channel is None and self._held is None and not self.closed:
                self._add_waiting(packets)
                return
        for pkt in packets:
            self.send(pkt)

    def hold(self) -> None:
        """Hold back what is sent from now on."""
        with self._lock:
            self._held = []

    def release(self, first: Packet | None, *, unless: Callable[[Packet], bool]) -> None:
        """Send `first`, then what was held back, including what comes meanwhile, except packets for which `unless` holds."""
        batch = [] if first is None else [first]
        while True:
            for pkt in batch:
                self._send_now(pkt)
            with self._lock:
                if not self._held:
                    self._held = None
                    return
                batch, self._held = [pkt for pkt in self._held if not unless(pkt)], []

    def attach(self, channel: PacketChannel, opening: Packet | None = None) -> None:
        """Make the WebSocket the session's transport: it sends `opening`, then what waits, then everything else."""
        if opening is not None:
            channel.send_packet(opening)
        while True:
            with self._lock:
                batch, self._waiting = self._waiting or (), None
                if not batch:
                    self.upgraded = True
                    if not self.closing:
                        self.channel = channel
                    self._wake()  # Ends a poll that came too late.
                    break
            for pkt in batch:
                channel.send_packet(pkt)
        if self.closing:
            channel.close()

    def poll(self, sock: socket.socket | None, *, hold_s: Callable[[], float | None]) -> list[Packet] | None:
        """Wait for packets, for `hold_s()` at most, and return them for one response; `None` if polls are over.

        Raises `ConcurrentPoll` and `PollerGone`. `hold_s` is called once the poll can be woken, so that it misses nothing.
        """
        with self._lock:
            if self.upgraded or (self.closed and self._waiting is None):
                return None
            if self._waiter is not None:
                raise ConcurrentPoll
            if self._waiting:
                return self._take_waiting()
            waiter = self._waiter = Waiter(sock)
        return self._wait(waiter, hold_s)

    def _wait(self, waiter: Waiter, hold_s: Callable[[], float | None]) -> list[Packet] | None:
        outcome = Outcome.PEER_GONE
        try:
            outcome = waiter.wait(hold_s())
        finally:
            with self._lock:
                self._waiter = None
                packets = self._take_waiting() if outcome is not Outcome.PEER_GONE else []
            waiter.close()
        if outcome is Outcome.PEER_GONE:
            raise PollerGone
        return packets or (None if self.upgraded else [NOOP])

    def end_poll(self) -> None:
        """End the poll that waits, if any."""
        with self._lock:
            self._wake()

    def begin_close(self) -> bool:
        """Attach no WebSocket from now on; return whether this is the first call."""
        with self._lock:
            was_closing, self.closing = self.closing, True
        return not was_closing

    def close(self, *, abort: bool, sends_close: bool) -> tuple[PacketChannel | None, bool]:
        """Drop what is sent from now on; return the WebSocket, which the caller closes, and whether packets wait for a poll.

        `abort` drops what waits; otherwise a close packet follows it if `sends_close`.
        """
        with self._lock:
            self.closed = True
            channel, self.channel = self.channel, None
            if abort or channel is not None:
                self._waiting = None
            elif sends_close:
                self._add_waiting([CLOSE])
            lingers = self._waiting is not None and self._waiter is None
            self._wake()
        return channel, lingers

    def _send_now(self, pkt: Packet) -> None:
        with self._lock:
            if self.closed:
                return
            channel = self.channel
            if channel is None:
                self._add_waiting([pkt])
                return
        channel.send_packet(pkt)

    def _add_waiting(self, packets: list[Packet]) -> None:
        if self._waiting is None:
            self._waiting = []
        self._waiting += packets
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
