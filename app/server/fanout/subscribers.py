"""Open subscriptions as an operator sees them: one row per connection, over all transports."""

from __future__ import annotations

from dataclasses import dataclass

from app.server.fanout.closed import CLOSED_OPERATOR
from app.server.fanout.fanout import Fanout

PATH_DIRECT = "direct"
PATH_STOCK = "stock"


@dataclass(frozen=True, slots=True)
class Subscriber:
    """One open connection of a registered device."""

    device: str
    transport: str
    path: str
    """The path of its bytes, `direct` or `stock`."""
    connected_us: int
    """Time of subscribing (server time base)."""
    buffered_bytes: int | None
    """Bytes that wait here, without the kernel's buffer; `None` where a library keeps them."""
    topics: frozenset[str] | None
    """`None`: all topics."""


def subscribers(fanout: Fanout) -> tuple[list[Subscriber], int]:
    """Return the connections of registered devices, oldest first, and the count of the others."""
    found = []
    connections = fanout.connections()
    for connection, since_us in connections:
        wanted = connection.wanted
        if wanted.device is None:
            continue
        detached = connection.detached
        found.append(
            Subscriber(
                wanted.device,
                wanted.transport,
                PATH_STOCK if detached is None else PATH_DIRECT,
                since_us,
                None if detached is None else detached.waiting_bytes,
                wanted.topics,
            )
        )
    return sorted(found, key=lambda each: each.connected_us), len(connections) - len(found)


def disconnect(fanout: Fanout, device: str) -> int:
    """Disconnect every connection of a device; return how many there were."""
    theirs = [each for each, _since_us in fanout.connections() if each.wanted.device == device]
    for connection in theirs:
        fanout.cut(connection, CLOSED_OPERATOR)
    return len(theirs)
