"""The broker interface: order and history of notifications, with numbered promises.

1. Every notification gets an offset that is one higher than the last: one total order over all topics.
2. Listeners are called in that order, once for each notification, before `publish` returns.
3. `attach` delivers what history holds after a position, and then everything published since. The change from history
   to live loses nothing and duplicates nothing, however fast others publish meanwhile.
4. A gap names what history no longer holds; nothing is skipped silently.
5. An idempotency key publishes once; a second use with other content raises `Conflict`.
6. History is bounded in count, bytes and age.
7. What `publish` has returned is kept: by `memory://` until the process ends, by `sqlite:///` beyond that (except
   trials), by `redis://` as safely as Redis is configured. What cannot be kept is not published, and everything else
   continues. No offset is used twice in an epoch.
8. If several servers share a broker, all of this holds across all of them, with one exception: on the other servers
   listeners are called soon after `publish` has returned. While the broker is unreachable, publishing is refused at
   once, and all clients stay connected.
9. A batch gets consecutive offsets, and all of it is kept or none. A key that was used for other content yields a
   `Conflict` for that draft alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from app.core.errors import Conflict
from app.core.notification import EVERYONE, Notification, Targets
from app.core.position import Position
from app.core.units import ServerUs


class Draft(msgspec.Struct, frozen=True):
    """A notification before it has an offset."""

    title: str
    body: str
    topic: str
    due_us: ServerUs
    data: dict[str, Any] = {}
    targets: Targets = EVERYONE
    ttl_us: int | None = None
    """Time after publication in which it may be replayed; `None`: as long as history holds it."""
    idempotency_key: str | None = None
    trial: bool = False
    """Belongs to an experiment: stored apart from the operator's history and its bounds."""


class Published(msgspec.Struct, frozen=True):
    """The result of publishing a draft."""

    notification: Notification
    recipients: dict[str, int]
    """Count of matching connections of this process at that moment, by transport."""
    repeated: bool = False
    """The idempotency key had been used before: this is what it published then."""


@dataclass(frozen=True, slots=True)
class Gap:
    """A range of offsets that history no longer holds."""

    first: int
    last: int
    reason: str
    """`"expired"`: dropped by the bounds of history. `"epoch"`: the position belongs to an earlier history."""
    position: Position
    """The client's position after the gap: just before its first notification, or the newest one if it gets none."""

    def wire(self) -> dict[str, Any]:
        """Return the JSON object of the `gap` event."""
        return {"from": self.first, "to": self.last, "reason": self.reason, "id": str(self.position)}


@dataclass(frozen=True, slots=True)
class Replay:
    """The notifications that a client missed after a position, and the gap before them."""

    gap: Gap | None
    notifications: tuple[Notification, ...]


@dataclass(frozen=True, slots=True)
class Filter:
    """The notifications that a subscriber wants and is allowed to get."""

    transport: str
    topics: frozenset[str] | None = None
    """`None`: all topics."""
    device: str | None = None

    def matches(self, notification: Notification) -> bool:
        """Return True if the subscriber gets this notification; used for live delivery, resume and history alike."""
        devices = notification.targets.devices
        return self.covers(notification) and (devices is None or self.device in devices)

    def covers(self, notification: Notification) -> bool:
        """Return True if it matches apart from targeted devices, which connections of one channel do not share."""
        transport = notification.targets.transport
        return (self.topics is None or notification.topic in self.topics) and (
            transport is None or transport == self.transport
        )


Listener = Callable[[Sequence[Notification]], list[dict[str, int]]]
"""Delivers notifications, in order, to this process's connections; returns for each the count by transport."""


class Watcher(Protocol):
    """Receives state changes of a broker that runs outside of this process."""

    def on_broken(self) -> None:
        """Continuity is broken: every client must reconnect and resume from its position.

        Called under the broker's lock, before listeners get anything from after the break.
        """
        ...

    def on_away(self, *, is_away: bool) -> None:
        """The broker has become unreachable, or reachable again."""
        ...


class Broker(Protocol):
    """Order and history; the promises are in the module's docstring."""

    @property
    def has_rooms(self) -> bool:
        """True if this server may open rooms: of several servers on a shared broker one may."""
        ...

    def leave_rooms(self) -> None:
        """Release the rooms for another server, because this one ends."""
        ...

    durability: str
    """Durability of published notifications in words, if another program decides it; otherwise empty."""

    def publish(self, draft: Draft) -> Published:
        """Assign an offset, store and deliver. Raises `Conflict` (promise 5), `NotKept` (7), `BrokerAway` (8)."""
        ...

    def publish_all(self, drafts: Sequence[Draft]) -> list[Published | Conflict]:
        """Assign consecutive offsets to a batch, store and deliver it; return the outcome of each draft (promise 9).

        Either all drafts belong to trials or none does. `NotKept` and `BrokerAway` are raised for the whole batch.
        """
        ...

    def position(self) -> Position:
        """Return the position of the newest notification."""
        ...

    def earlier(self, draft: Draft) -> Published | None:
        """Return what the draft's idempotency key published before, if anything. Raises `Conflict` (promise 5)."""
        ...

    def reaches(self, since: Position, wanted: Filter) -> bool:
        """Return True if history holds everything matching after `since`: a resume from there has no gap."""
        ...

    def newer_count(self, since: Position) -> int:
        """Return how many notifications of history `attach` looks at at most for a resume from `since`."""
        ...

    def attach(self, since: Position | None, wanted: Filter, start: Callable[[Replay], None]) -> None:
        """Call `start` with the replay after `since` (empty for `None`), atomically with publishing (promise 3)."""
        ...

    def history(self, after: int, limit: int) -> tuple[Notification, ...]:
        """Return the operator's notifications after an offset, oldest first, without trials and targeted ones."""
        ...

    def listen(self, listener: Listener) -> None:
        """Call `listener` with every notification from now on (promise 2)."""
        ...

    def watch(self, watcher: Watcher) -> None:
        """Report state changes of the broker to `watcher`."""
        ...

    def close(self) -> None:
        """Shut down in order. The broker must not be used afterwards."""
        ...
