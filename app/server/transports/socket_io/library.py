"""Extensions of python-socketio: its client manager, its packet class and its logger."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

import socketio
from socketio import packet as protocol

from app.server.transports.socket_io.frames import NAMESPACE
from app.server.transports.socket_io.protocol import StrictPacket

logger = logging.getLogger("siar.socketio")

NAMESPACE_CHARS_MAX = 200
"""Upper bound of a namespace's name: the refusal of an unknown one repeats the name and is queued for the client."""


class ClientManager(socketio.Manager):  # type: ignore[misc]
    """The library's client manager, extended to report when CONNECT has been sent.

    It calls `connected` with the `sid` of a client whose CONNECT was sent, or `forget` if the client left before.
    """

    def __init__(self, *, connected: Callable[[str], None], forget: Callable[[str], None]) -> None:
        super().__init__()
        self._connected = connected
        self._forget = forget

    def basic_enter_room(
        self, sid: str, namespace: str, room: str | None, eio_sid: str | None = None
    ) -> None:
        """Enter a room, except the one that the library creates for each client alone.

        Such a room would take 700 bytes, and the library searches all rooms whenever a client leaves.
        """
        if room != sid:
            super().basic_enter_room(sid, namespace, room, eio_sid=eio_sid)

    def get_participants(self, namespace: str, room: Any) -> Iterator[tuple[str, str]]:
        """Yield the clients in a room, or in one of several rooms."""
        found: dict[str, str] = {}
        for name in room if isinstance(room, list | tuple) else [room]:
            if name is not None and self.is_sid_room(namespace, name):
                found[name] = self.eio_sid_from_sid(name, namespace)
            else:
                found.update(super().get_participants(namespace, name))
        yield from found.items()

    def get_rooms(self, sid: str, namespace: str) -> list[str]:
        """Return the rooms of a client."""
        own = [sid] if self.is_sid_room(namespace, sid) else []
        return own + list(super().get_rooms(sid, namespace))

    def connect(self, sid: str, namespace: str) -> Any:
        """Register a client and report it. The library calls this directly after sending CONNECT."""
        connected = super().connect(sid, namespace)
        if self.eio_sid_from_sid(sid, namespace) not in self.server.environ:
            # Sending CONNECT found that the session had timed out: the library has removed the session, but not this sid.
            self.basic_disconnect(sid, namespace)
            self._forget(sid)
        elif namespace == NAMESPACE:
            self._connected(sid)
        return connected


def packet_class(on_connect: Callable[[str], dict[str, str]]) -> type[protocol.Packet]:
    """Return the library's packet class, extended so that CONNECT to a `sid` also carries `on_connect(sid)`."""

    class SiarPacket(StrictPacket):
        """A packet whose CONNECT to a client also carries position and pid, and the id of a recovered session."""

        def decode(self, encoded_packet: str) -> Any:
            """Parse a packet and refuse what a client may not send. Raises `ValueError`."""
            attachment_count = super().decode(encoded_packet)
            if len(self.namespace or "") > NAMESPACE_CHARS_MAX:
                raise ValueError("a namespace that is too long")
            return attachment_count

        def encode(self) -> Any:
            if self.packet_type == protocol.CONNECT and isinstance(self.data, dict) and "sid" in self.data:
                self.data = {**self.data, **on_connect(self.data["sid"])}
            return super().encode()

    return SiarPacket


class _OneLineFilter(logging.Filter):
    """Limits the library's log records about a bad peer to one line, so that peers cannot fill the log with tracebacks."""

    def filter(self, record: logging.LogRecord) -> bool:
        if not logger.isEnabledFor(logging.DEBUG):
            record.exc_info = None
        return True


def quiet_logger() -> logging.Logger:
    """Return the logger that the library uses."""
    found = logging.getLogger("siar.engineio.library")
    if not logger.isEnabledFor(logging.DEBUG):
        found.setLevel(logging.WARNING)  # At "info" it logs every packet.
    if not any(isinstance(each, _OneLineFilter) for each in found.filters):
        found.addFilter(_OneLineFilter())
    return found
