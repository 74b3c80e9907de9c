"""What python-socketio is given of ours: its book of clients, its packets, its log."""

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
"""The refusal of one that is not there repeats its name, and waits with others until it is taken."""


class Manager(socketio.Manager):  # type: ignore[misc]
    """The library's book of clients, which also says when CONNECT has been answered.

    `connected` is called with the `sid` of a client whose CONNECT was sent, `forget` with one that left before.
    """

    def __init__(self, *, connected: Callable[[str], None], forget: Callable[[str], None]) -> None:
        super().__init__()
        self._connected = connected
        self._forget = forget

    def basic_enter_room(
        self, sid: str, namespace: str, room: str | None, eio_sid: str | None = None
    ) -> None:
        """Enter a room, but for that of its own name, which each client has to itself.

        It would take 700 bytes, and the library looks through all rooms whenever a client leaves.
        """
        if room != sid:
            super().basic_enter_room(sid, namespace, room, eio_sid=eio_sid)

    def get_participants(self, namespace: str, room: Any) -> Iterator[tuple[str, str]]:
        """Who is in a room, or in one of several."""
        found: dict[str, str] = {}
        for name in room if isinstance(room, list | tuple) else [room]:
            if name is not None and self.is_sid_room(namespace, name):
                found[name] = self.eio_sid_from_sid(name, namespace)
            else:
                found.update(super().get_participants(namespace, name))
        yield from found.items()

    def get_rooms(self, sid: str, namespace: str) -> list[str]:
        """The rooms of a client."""
        own = [sid] if self.is_sid_room(namespace, sid) else []
        return own + list(super().get_rooms(sid, namespace))

    def connect(self, sid: str, namespace: str) -> Any:
        """Called by the library directly behind the CONNECT packet."""
        connected = super().connect(sid, namespace)
        if self.eio_sid_from_sid(sid, namespace) not in self.server.environ:
            # Sending CONNECT found that the session had timed out: the library has forgotten it, but not this sid.
            self.basic_disconnect(sid, namespace)
            self._forget(sid)
        elif namespace == NAMESPACE:
            self._connected(sid)
        return connected


def packet_class(on_connect: Callable[[str], dict[str, str]]) -> type[protocol.Packet]:
    """Return the class of the library's packets; `on_connect` gives what the CONNECT to a `sid` carries besides."""

    class SiarPacket(StrictPacket):
        """A packet whose CONNECT to a client carries position and pid too, and the id of a session that is recovered."""

        def decode(self, encoded_packet: str) -> Any:
            """Refuse what a client may not send. Raises `ValueError`."""
            attachment_count = super().decode(encoded_packet)
            if len(self.namespace or "") > NAMESPACE_CHARS_MAX:
                raise ValueError("a namespace that is too long")
            return attachment_count

        def encode(self) -> Any:
            if self.packet_type == protocol.CONNECT and isinstance(self.data, dict) and "sid" in self.data:
                self.data = {**self.data, **on_connect(self.data["sid"])}
            return super().encode()

    return SiarPacket


class _OneLine(logging.Filter):
    """Keeps what the library says of a bad peer to one line: a stranger must not fill the log with tracebacks."""

    def filter(self, record: logging.LogRecord) -> bool:
        if not logger.isEnabledFor(logging.DEBUG):
            record.exc_info = None
        return True


def quiet_logger() -> logging.Logger:
    """The log that the library is given."""
    found = logging.getLogger("siar.engineio.library")
    if not logger.isEnabledFor(logging.DEBUG):
        found.setLevel(logging.WARNING)  # at "info" it would tell of every packet
    if not any(isinstance(each, _OneLine) for each in found.filters):
        found.addFilter(_OneLine())
    return found
