"""What a broker promises to everyone who uses it.

1. Every notification gets an offset that is one higher than the last: one total order over all topics.
2. Listeners are told in that order, each notification once, before `publish` returns.
3. `attach` hands over what history holds after a position and then everything published since: the change from
   history to live loses nothing and doubles nothing, however fast others publish meanwhile.
4. What history no longer holds is named by a gap, never passed over in silence.
5. The same idempotency key publishes once; a second use with other content is a `Conflict`.
6. History is bounded in count, bytes and age.
7. What `publish` has returned is kept: `memory://` until the process ends, `sqlite:///` beyond that, but for trials;
   `redis://` as safely as Redis is set to keep it. Where it cannot be kept it is not published, and everything else
   goes on. No offset is given out twice in an epoch.
8. Where several servers share a broker, all of this holds over all of them, but that listeners are told "before
   `publish` returns" on the server that published, and soon after on the others. While it is away, publishing is
   refused at once, and everybody who is connected stays.
9. What is published together gets offsets that follow each other, and is kept together or not at all. A key that stands
   for something else is a `Conflict` in the place of that draft alone.
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
    """A notification before it has a place in the order."""

    title: str
    body: str
    topic: str
    due_us: ServerUs
    data: dict[str, Any] = {}
    targets: Targets = EVERYONE
    ttl_us: int | None = None
    """How long it may be replayed, from when it is published."""
    idempotency_key: str | None = None
    trial: bool = False
    """Belongs to an experiment: kept apart from the operator's history and its bounds."""


class Published(msgspec.Struct, frozen=True):
    """What became of a draft."""

    notification: Notification
    recipients: dict[str, int]
    """Matching connections of this process at that moment, by transport."""
    repeated: bool = False
    """The idempotency key had been used: this is what it published then."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Offsets that history no longer holds."""

    first: int
    last: int
    reason: str
    """`"expired"`: dropped by the bounds of history. `"epoch"`: the position is of another life of it."""
    position: Position
    """Where the client stands after it: just before the first that it gets, or at the newest where it gets none."""

    def wire(self) -> dict[str, Any]:
        """The JSON object of the `gap` event."""
        return {"from": self.first, "to": self.last, "reason": self.reason, "id": str(self.position)}


@dataclass(frozen=True, slots=True)
class Replay:
    """What a client that left off at some position has missed."""

    gap: Gap | None
    notifications: tuple[Notification, ...]


@dataclass(frozen=True, slots=True)
class Filter:
    """Whose notifications a subscriber wants and may have."""

    transport: str
    topics: frozenset[str] | None = None
    """`None`: all."""
    device: str | None = None

    def matches(self, notification: Notification) -> bool:
        """Whether it is wanted here and meant for here: the same for live, resume and history."""
        devices = notification.targets.devices
        return self.covers(notification) and (devices is None or self.device in devices)

    def covers(self, notification: Notification) -> bool:
        """Whether it is wanted and meant for some device here: what all who share topics have in common."""
        transport = notification.targets.transport
        return (self.topics is None or notification.topic in self.topics) and (
            transport is None or transport == self.transport
        )


Listener = Callable[[Sequence[Notification]], list[dict[str, int]]]
"""Delivers notifications, in order, to this process's connections; returns for each how many, by transport."""


class Watcher(Protocol):
    """Who has to know what becomes of a broker that is somewhere else."""

    def on_broken(self) -> None:
        """What comes next does not follow what came last: everyone must resume from where they stand.

        Called under the broker's lock, before anything that does not follow is told.
        """
        ...

    def on_away(self, *, is_away: bool) -> None:
        """Nothing can be published for now; or again."""
        ...


class Broker(Protocol):
    """Order and history, as promised above."""

    @property
    def has_rooms(self) -> bool:
        """Whether rooms may be opened here: of several servers on a shared broker one has them."""
        ...

    def leave_rooms(self) -> None:
        """This server ends: another one may have them."""
        ...

    durability: str
    """How safe is what was published, in words, where that is not ours to decide; otherwise empty."""

    def publish(self, draft: Draft) -> Published:
        """Order, keep and hand on. Raises `Conflict` (promise 5), `NotKept` (7), `BrokerAway` (8)."""
        ...

    def publish_all(self, drafts: Sequence[Draft]) -> list[Published | Conflict]:
        """Order, keep and hand on several, with nothing in between; return what became of each (promise 9).

        All of them belong to trials, or none does. Raises `NotKept` and `BrokerAway` for all of them.
        """
        ...

    def position(self) -> Position:
        """The position of the newest notification."""
        ...

    def earlier(self, draft: Draft) -> Published | None:
        """What the draft's idempotency key published before, if it did. Raises `Conflict` (promise 5)."""
        ...

    def reaches(self, since: Position, wanted: Filter) -> bool:
        """Whether history holds everything after `since` that is wanted: a resume from there has no gap."""
        ...

    def attach(self, since: Position | None, wanted: Filter, start: Callable[[Replay], None]) -> None:
        """Call `start` with what was missed since (nothing for `None`), atomically with publishing (promise 3)."""
        ...

    def history(self, after: int, limit: int) -> tuple[Notification, ...]:
        """The operator's notifications after an offset, oldest first; trials and targeted ones are left out."""
        ...

    def listen(self, listener: Listener) -> None:
        """Tell `listener` of every notification from now on (promise 2)."""
        ...

    def watch(self, watcher: Watcher) -> None:
        """Tell `watcher` what becomes of the broker itself."""
        ...

    def close(self) -> None:
        """End in order; nothing may be asked of it any more."""
        ...
