"""Who is connected, as an operator wants to see it: one row per connection, over both transports alike."""

from __future__ import annotations

from dataclasses import dataclass

from app.server.fanout.closed import CLOSED_OPERATOR
from app.server.fanout.connection import DetachedConnection
from app.server.fanout.fanout import Fanout

PATH_DIRECT = "direct"
PATH_STOCK = "stock"


@dataclass(frozen=True, slots=True)
class Subscriber:
    """One open connection."""

    device: str
    transport: str
    path: str
    """How it is written to: `direct` or `stock`."""
    connected_us: int
    """Since when it is subscribed (server time base)."""
    buffered_bytes: int | None
    """What waits for it here, beside the kernel's buffer; `None` where a library keeps it."""
    topics: frozenset[str] | None
    """`None`: all."""


def subscribers(fanout: Fanout) -> tuple[list[Subscriber], int]:
    """The connections of registered devices, those that came first in front; and how many others there are."""
    found = []
    connections = fanout.connections()
    for connection, since_us in connections:
        wanted = connection.wanted
        if wanted.device is None:
            continue
        outlet = connection if isinstance(connection, DetachedConnection) else None
        found.append(
            Subscriber(
                wanted.device,
                wanted.transport,
                PATH_STOCK if outlet is None else PATH_DIRECT,
                since_us,
                None if outlet is None else outlet.waiting_bytes,
                wanted.topics,
            )
        )
    return sorted(found, key=lambda each: each.connected_us), len(connections) - len(found)


def disconnect(fanout: Fanout, device: str) -> int:
    """End every connection of a device; how many there were."""
    theirs = [each for each, _since_us in fanout.connections() if each.wanted.device == device]
    for connection in theirs:
        fanout.cut(connection, CLOSED_OPERATOR)
    return len(theirs)
