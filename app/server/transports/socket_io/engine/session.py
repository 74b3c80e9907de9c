"""One Engine.IO session: receiving, polling and closing. It takes the place of the library's `Socket`.

Thousands of sessions are idle at a time, so none has a queue, a thread or a timer of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from engineio import packet
from engineio.packet import Packet

from app import clock
from app.core import rate
from app.core.errors import MalformedFrame
from app.server.transports.socket_io.engine.host import SessionHost, Upgrade
from app.server.transports.socket_io.engine.outgoing import (
    ConcurrentPoll,
    Outgoing,
    PacketChannel,
    PollerGone,
)
from app.server.transports.socket_io.engine.packets import CLOSE, decode
from app.server.wsgi import connection_limiter

BYTES_PER_PACKET = 1_024
"""Bytes that count as one packet against the address' share and, if they came compressed, against the rate limit. JSON of
64 KB takes 5.6 ms to decode (measured)."""


class EngineSession:
    """A client's session, with the attributes and methods that the library's server expects.

    The library looks for `connected`, `upgraded`, `closing`, `closed`, `session`, `send` and `close` by name.

    1. Packets reach the client in the order of `send`, across an upgrade too.
    2. `disconnect` is triggered once, whichever side ended the session; nothing is received after it.
    """

    __slots__ = (
        "_theoretical_us",
        "_unread_answers",
        "_user_session",
        "address",
        "connected",
        "has_joined",
        "is_deflated",
        "is_posting",
        "outgoing",
        "pong_due_us",
        "server",
        "sid",
        "upgrade_attempt",
    )

    def __init__(self, server: SessionHost, sid: str, address: str = "") -> None:
        self.server = server
        self.sid = sid
        self.outgoing = Outgoing(server.lock)
        """Packets to the client. An object of its own costs 48 bytes per session, of about 500."""
        self.connected = False
        self.upgrade_attempt: Upgrade | None = None
        """A WebSocket that may take the place of polling, while it is being probed."""
        self.address = address
        """Address from which its first request came."""
        self.has_joined = False
        """True if the client has joined a Socket.IO namespace; if it never does, the session ends after a while."""
        self.is_deflated = False
        """True if messages of its WebSocket may be compressed, in both directions."""
        self.pong_due_us = 0
        """Time at which the session ends unless a pong comes; 0 while no ping is outstanding."""
        self._user_session: dict[str, Any] | None = None
        self.is_posting = False
        """True if a POST is in progress."""
        self._theoretical_us = 0.0
        """State of the rate limit: theoretical arrival time of its next packet (`app.core.rate`)."""
        self._unread_answers = 0
        """Answered messages whose answers the client has not read."""

    @property
    def session(self) -> dict[str, Any]:
        """Return the dictionary for the library's `get_session`, created on first use."""
        if self._user_session is None:
            self._user_session = {}
        return self._user_session

    @session.setter
    def session(self, value: dict[str, Any]) -> None:
        self._user_session = value

    @property
    def upgraded(self) -> bool:
        """Return whether a WebSocket is, or was, the session's transport."""
        return self.outgoing.upgraded

    @property
    def closing(self) -> bool:
        """Return whether the session is ending or has ended; nothing is received any more."""
        return self.outgoing.closing

    @property
    def closed(self) -> bool:
        """Return whether the session has ended; nothing is sent any more."""
        return self.outgoing.closed

    def send(self, pkt: Packet) -> None:
        """Send a packet, or keep it until it can be sent. After the session's end it is dropped."""
        self.outgoing.send(pkt)

    def attach(self, channel: PacketChannel, opening: Packet | None = None) -> None:
        """Make the WebSocket the session's transport: it sends `opening`, then what waits, then everything else."""
        self.outgoing.attach(channel, opening)
        self.connected = True
        self.upgrade_attempt = None

    def receive(self, data: str | bytes) -> None:
        """Process one raw packet of the client. Raises `MalformedFrame`, after which the caller closes the session."""
        if len(data) > self.server.max_http_buffer_size:
            raise MalformedFrame(f"A packet is longer than {self.server.max_http_buffer_size} bytes.")
        if self.is_deflated:
            # Compressed, it may have been a thousandth of that length; the rate limit counts the cost of reading it.
            self.count_packet(len(data) // BYTES_PER_PACKET)
        self.take(decode(data))

    def take(self, pkt: Packet) -> None:
        """Process one decoded packet, when it is its turn. Raises `MalformedFrame` like `receive`."""
        self.wait_for((1 + len(pkt.data or "") // BYTES_PER_PACKET) * connection_limiter.PACKET)
        if self.closing:
            return
        self.count_packet()
        if pkt.packet_type == packet.MESSAGE:
            self._dispatch(pkt.data)
        elif pkt.packet_type == packet.PONG:
            self.server.timer.on_pong(self)
        elif pkt.packet_type == packet.CLOSE:
            self.close(abort=True, reason=self.server.reason.CLIENT_DISCONNECT)
        elif pkt.packet_type == packet.PING:
            raise MalformedFrame("In Engine.IO 4 only the server pings.")
        # The remaining types mean nothing here: open, a late upgrade, noop.

    def _dispatch(self, data: str | bytes) -> None:
        """Pass a message to its handler. Raises `MalformedFrame` if the client keeps asking without reading the answers."""
        before = self.outgoing.waiting_count
        self.server._trigger_event("message", self.sid, data, run_async=False)
        self._unread_answers = min(self._unread_answers, before) + (self.outgoing.waiting_count > before)
        if self._unread_answers > self.server.limits.unread_answers_max:
            raise MalformedFrame("Its messages are answered, and it does not take the answers.")

    def charge(self, count: int) -> None:
        """Count `count` packets against the rate limit; a violation is raised only with the next received packet."""
        self._theoretical_us = rate.advance(
            self._theoretical_us, clock.monotonic_us(), self.server.limits.packet_pause_us, count
        )

    def wait_for(self, requests: float) -> None:
        """Wait until its address' share allows what costs as much as so many requests; let others run in any case."""
        self.server.sleep(connection_limiter.wait_s(self.address, requests))

    def count_packet(self, count: int = 1) -> None:
        """Count `count` packets and enforce the rate limit. Raises `MalformedFrame`."""
        limits = self.server.limits
        self.charge(count)
        tolerance_us = limits.packet_pause_us * limits.packets_burst_max
        if rate.wait_us(self._theoretical_us, clock.monotonic_us(), tolerance_us) > 0:
            raise MalformedFrame(f"More than {limits.packets_per_s} packets came in a second, for too long.")

    # -- polling -------------------------------------------------------------------------------------------------

    def poll(self, sock: Any) -> list[Packet] | None:
        """Wait for packets and return them, as the response to a GET; `None` if the session cannot be polled."""
        try:
            return self.outgoing.poll(sock, hold_s=self._hold_s)
        except ConcurrentPoll:
            # "a client MUST NOT have more than one active GET request. Should it happen, the server MUST return an HTTP 400
            # error status and close the session." [6] The first one gets the close packet.
            self.close(reason=self.server.reason.TRANSPORT_ERROR)
        except PollerGone:
            # Further packets would be lost.
            self.close(abort=True, reason=self.server.reason.TRANSPORT_ERROR)
        return None

    def _hold_s(self) -> float | None:
        # During an upgrade the client waits for its last poll to end. A poll that comes now may also have overtaken the end
        # of the upgrade, so it is held for a moment. Node's server checks every 100 ms.
        is_upgrading = self.upgrade_attempt is not None and self.upgrade_attempt.is_probed
        return self.server.limits.last_poll_s if is_upgrading else None

    def post(self, packets: Iterable[Packet]) -> None:
        """Process the packets of a POST. Raises `MalformedFrame`."""
        for pkt in packets:
            if pkt.packet_type == packet.CLOSE and not self.closing and not self.outgoing.is_polled:
                # The close may have overtaken a poll that was sent before it, on another connection [9].
                self.server.sleep(self.server.limits.overtaking_s)
            self.take(pkt)

    def begin_post(self) -> bool:
        """Mark a POST as in progress; return whether no other one was."""
        with self.server.lock:
            was_posting, self.is_posting = self.is_posting, True
        return not was_posting

    def end_post(self) -> None:
        """Mark the POST as finished."""
        self.is_posting = False

    def on_probed(self) -> None:
        """End the poll after a WebSocket has been probed successfully, so that the client can finish the upgrade."""
        self.outgoing.end_poll()

    # -- the end -------------------------------------------------------------------------------------------------

    def close_for_reconnect(self) -> None:
        """End the session in a way that makes its client reconnect.

        A WebSocket is simply closed. A poll ends after what waited, and at the next one the session is unknown. Engine.IO's
        close packet is not sent, because python-socketio would then stay away for good.
        """
        self.close(abort=self.outgoing.channel is not None, sends_close=False)

    def close(
        self,
        wait: bool = False,  # noqa: FBT001 - the library's signature
        abort: bool = False,  # noqa: FBT001
        reason: str | None = None,
        *,
        sends_close: bool = True,
    ) -> None:
        """End the session without waiting for its client. `abort` sends no close packet and drops what waits."""
        if not self.outgoing.begin_close():
            return
        reason = reason or self.server.reason.SERVER_DISCONNECT
        self.server._trigger_event("disconnect", self.sid, reason, run_async=False)
        channel, lingers = self.outgoing.close(abort=abort, sends_close=sends_close)
        attempt, self.upgrade_attempt = self.upgrade_attempt, None
        self.server.forget(self, lingers=lingers, reason=reason)
        if channel is not None:
            if not abort:
                channel.send_packet(CLOSE)
            channel.close()
        if attempt is not None:
            attempt.abandon()

    def cut(self) -> None:
        """End the session of a slow consumer at once, dropping what waits."""
        channel = self.outgoing.channel
        if channel is not None:
            channel.cut()
        self.close(abort=True)
