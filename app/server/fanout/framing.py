"""The fan-out's part of the interface of a transport: its connections, and its framing.

A transport as a whole, with its numbered promises, is `app/server/transports/base.py`. This part is declared here because
the fan-out uses it and transports import the fan-out; imports between two folders go one way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from app.core.notification import Notification
from app.server.broker.base import Filter, Replay
from app.server.fanout.closed import Closed
from app.server.fanout.connection import DetachedConnection


class Connection(Protocol):
    """One subscriber's open connection, as a transport created it."""

    @property
    def wanted(self) -> Filter:
        """The notifications that it subscribes to."""
        ...

    @property
    def encoding(self) -> str:
        """The encoding that it reads, constant while it is subscribed; empty where the transport has only one."""
        ...

    @property
    def detached(self) -> DetachedConnection | None:
        """Itself if it is a detached connection, which joins a channel; `None` on the stock path."""
        ...

    def start(self, replay: Replay) -> None:
        """Take the replay; called once, under the broker's lock, before anything live."""
        ...

    def end(self, reason: Closed) -> None:
        """End the connection from our side. Must not block."""
        ...


StockConnection = TypeVar("StockConnection", contravariant=True)
"""The transport's own class of connections on the stock path: it is handed no others."""


class Framing(Protocol[StockConnection]):
    """A transport as the fan-out uses it: it frames notifications and writes to stock connections."""

    def frame(self, notification: Notification, encoding: str) -> bytes:
        """Return the bytes of a notification, the same for every connection of `encoding`."""
        ...

    def send(self, notification: Notification, connections: Sequence[StockConnection]) -> None:
        """Hand it to each stock connection. Must not block, and must not raise for one that has left."""
        ...

    def frame_notice(self, event: str, json: str, encoding: str) -> bytes:
        """Return the bytes of an event that is not a notification and changes no position, in `encoding`."""
        ...

    def send_notice(self, event: str, json: str, connections: Sequence[StockConnection]) -> None:
        """Hand such an event to each stock connection."""
        ...
