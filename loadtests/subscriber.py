"""One connection of one user in one greenlet: dial, handshake, then read until it ends."""

from __future__ import annotations

import contextlib
import time
from typing import Any

import gevent

from app.core import kernel_stamps
from app.core.client import ClientProtocol
from app.core.client.base import ENDED, TORN
from app.core.errors import MalformedFrame, MalformedPosition
from app.core.position import parse_position
from app.core.transports import PROTOCOLS
from loadtests.reading import waiting_recvmsg
from loadtests.session import NOTHING, DecodedPiece, Member, Session
from loadtests.stamps import READ_BYTES, dial

HANDSHAKE_S_MAX = 30.0
"""Time limit of a handshake."""


class Lost(Exception):
    """The connection broke, or could not be opened; the message has the reason."""


class Subscriber:
    """Present connection of a user."""

    def __init__(self, session: Session, member: Member, transport: str) -> None:
        self._session, self._member, self._transport = session, member, transport
        self._protocol: ClientProtocol = PROTOCOLS[transport](session.subscription(member))
        self._sock: Any = None

    def open(self) -> int:
        """Dial and wait for acceptance; return the time it took, microseconds.

        Raises `Lost`, which is counted as a failed attempt.
        """
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
            # This runs also if the user is stopped, which is not counted as a loss.
            self._member.live = False
            self.close()

    def close(self) -> None:
        """Close the socket."""
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
            self._flush()
            if (position := protocol.position) is not None:
                connect_us = (read_ns - begun_ns) // 1000
                offset = parse_position(position).offset
                session.accepted(self._member, position, offset, connect_us=connect_us)
                if notifications:  # A resume brings them with the handshake, without a stamp of their own.
                    self._report(notifications, read_ns, None)
                    session.keep(self._member, session.piece_of(notifications), read_ns, None)
                return connect_us

    def _read(self) -> None:
        """Read until the connection ends. A microsecond in this loop is three milliseconds with three thousand users."""
        session, member, protocol = self._session, self._member, self._protocol
        now_ns = time.monotonic_ns
        is_idle = protocol.is_idle
        with waiting_recvmsg(self._sock) as recvmsg:
            while True:
                data, ancillary, _flags, _address = recvmsg(READ_BYTES, kernel_stamps.ROOM_BYTES)
                read_ns = now_ns()
                if not data:
                    raise Lost(TORN)
                piece = session.known.get(data) if is_idle else None
                if piece is None:
                    piece = self._decode(data, read_ns, ancillary, was_idle=is_idle)
                    is_idle = protocol.is_idle
                if piece.notifications:
                    session.keep(member, piece, read_ns, kernel_stamps.stamp_ns(ancillary))

    def _decode(self, data: bytes, read_ns: int, ancillary: Any, *, was_idle: bool) -> DecodedPiece:
        protocol, session = self._protocol, self._session
        notifications = protocol.receive_data(data)
        needs_no_answer = not protocol.outgoing
        self._flush()
        if protocol.ended:
            raise Lost(ENDED)
        if session.on_notification is not None:
            self._report(notifications, read_ns, kernel_stamps.stamp_ns(ancillary))
            return session.piece_of(notifications)  # Not cached, because each notification must be reported.
        piece = session.piece_of(notifications) if notifications else NOTHING
        if was_idle and needs_no_answer and protocol.is_idle:
            session.remember(data, piece)
        return piece

    def _report(self, notifications: list[dict[str, Any]], read_ns: int, stamp_ns: int | None) -> None:
        """Pass notifications to `on_notification`, replays included, since they would otherwise count as missing."""
        session = self._session
        if session.on_notification is not None:
            for each in notifications:
                session.on_notification(self._member, self._transport, read_ns, each, stamp_ns)

    def _flush(self) -> None:
        if self._protocol.outgoing:
            self._sock.sendall(bytes(self._protocol.outgoing))
            self._protocol.outgoing.clear()


def _reason(error: BaseException) -> str:
    """Return a reason without address or port, so that equal reasons are counted together."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__
