"""One connection of one user: dial, handshake, then read until it ends. No thread, no queue, one greenlet."""

from __future__ import annotations

import contextlib
import time
from typing import Any

import gevent

from app.core import kernel_stamps
from app.core.client import PROTOCOLS, ClientProtocol
from app.core.client.base import ENDED, TORN
from app.core.errors import MalformedFrame, MalformedPosition
from app.core.position import parse_position
from loadtests.patience import patient
from loadtests.session import NOTHING, Heard, Member, Session
from loadtests.stamps import READ_BYTES, dial

HANDSHAKE_S_MAX = 30.0
"""A handshake without an end by then has failed."""


class Lost(Exception):
    """The connection is gone, or never was; says why."""


class Subscriber:
    """A user's present connection."""

    def __init__(self, session: Session, member: Member, transport: str) -> None:
        self._session, self._member, self._transport = session, member, transport
        self._protocol: ClientProtocol = PROTOCOLS[transport](session.subscription(member))
        self._sock: Any = None

    def open(self) -> int:
        """Dial and be let in; how many microseconds that took. Raises `Lost`, which is counted as a failed attempt."""
        self._session.attempts += 1
        begun_ns = time.monotonic_ns()
        try:
            with gevent.Timeout(HANDSHAKE_S_MAX, Lost("the handshake took too long")):
                return self._shake_hands(begun_ns)
        except (OSError, MalformedFrame, MalformedPosition, Lost) as error:
            self.close()
            reason = _reason(error)
            self._session.failures[reason] += 1
            raise Lost(reason) from error

    def listen(self) -> None:
        """Read until the connection ends. Always raises `Lost`, or what ends the user."""
        try:
            self._read()
        except MalformedFrame as error:
            self._session.malformed += 1
            raise Lost(str(error)) from error
        except OSError as error:
            raise Lost(_reason(error)) from error
        finally:
            # Also when the user is stopped: then it is no loss, and nobody counts it.
            self._member.live = False
            self.close()

    def close(self) -> None:
        """Let the socket go."""
        if self._sock is not None:
            with contextlib.suppress(OSError):
                self._sock.close()
            self._sock = None

    def _shake_hands(self, begun_ns: int) -> int:
        protocol, session = self._protocol, self._session
        self._sock = dial(*session.address, is_encrypted=session.is_encrypted)
        self._sock.sendall(protocol.opening())
        while True:
            data = self._sock.recv(READ_BYTES)
            read_ns = time.monotonic_ns()
            if not data:
                raise Lost("it closed the connection before the handshake was over")
            notifications = protocol.receive_data(data)
            self._answer()
            if (position := protocol.position) is not None:
                connect_us = (read_ns - begun_ns) // 1000
                session.let_in(self._member, position, parse_position(position).offset, connect_us=connect_us)
                if notifications:  # A resume brings them with the handshake; they have no stamp of their own.
                    self._tell(notifications, read_ns, None)
                    session.keep(self._member, session.heard(notifications), read_ns, None)
                return connect_us

    def _read(self) -> None:
        """The hot loop: a microsecond here is three milliseconds with three thousand users."""
        session, member, protocol = self._session, self._member, self._protocol
        now_ns = time.monotonic_ns
        is_idle = protocol.is_idle
        with patient(self._sock) as recvmsg:
            while True:
                data, ancillary, _flags, _address = recvmsg(READ_BYTES, kernel_stamps.ROOM_BYTES)
                read_ns = now_ns()
                if not data:
                    raise Lost(TORN)
                heard = session.known.get(data) if is_idle else None
                if heard is None:
                    heard = self._decode(data, read_ns, ancillary, was_at_rest=is_idle)
                    is_idle = protocol.is_idle
                if heard.notifications:
                    session.keep(member, heard, read_ns, kernel_stamps.stamp_ns(ancillary))

    def _decode(self, data: bytes, read_ns: int, ancillary: Any, *, was_at_rest: bool) -> Heard:
        protocol, session = self._protocol, self._session
        notifications = protocol.receive_data(data)
        is_plain = not protocol.outgoing
        self._answer()
        if protocol.ended:
            raise Lost(ENDED)
        if session.on_notification is not None:
            self._tell(notifications, read_ns, kernel_stamps.stamp_ns(ancillary))
            return session.heard(notifications)  # Nothing is remembered: each one is to be seen.
        heard = session.heard(notifications) if notifications else NOTHING
        if was_at_rest and is_plain and protocol.is_idle:
            session.remember(data, heard)
        return heard

    def _tell(self, notifications: list[dict[str, Any]], read_ns: int, stamp_ns: int | None) -> None:
        """Each one to who wants to see them: replays too, or the next one would look as if some were missing."""
        session = self._session
        if session.on_notification is not None:
            for each in notifications:
                session.on_notification(self._member, self._transport, read_ns, each, stamp_ns)

    def _answer(self) -> None:
        if self._protocol.outgoing:
            self._sock.sendall(bytes(self._protocol.outgoing))
            self._protocol.outgoing.clear()


def _reason(error: BaseException) -> str:
    """Few different ones, since they are counted: an address or a port in them would make each its own."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__
