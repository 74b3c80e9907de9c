"""The broker within one process: a counter, two histories, idempotency keys and a lock."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Container, Sequence
from heapq import merge

from app import clock
from app.core.errors import Conflict
from app.core.notification import Notification
from app.core.position import Position
from app.core.units import ServerUs
from app.core.wire import is_trial_topic
from app.server.broker.base import Draft, Filter, Gap, Listener, Published, Replay, Watcher
from app.server.broker.history import History
from app.server.broker.keys import Keys, Use, fingerprint

TRIAL_HISTORY_COUNT = 20_000
"""Enough for a trial of 5 minutes at 60/s, so that a client that loses its connection in a trial can resume."""


class MemoryBroker:
    """`memory://`: order and history that end with the process. Each start begins a new epoch."""

    def __init__(self, *, count_max: int, bytes_max: int, age_max_us: int) -> None:
        self._epoch = secrets.token_hex(4)
        self._offset = 0
        self._operator = History(count_max=count_max, bytes_max=bytes_max, age_max_us=age_max_us)
        self._trials = History(count_max=TRIAL_HISTORY_COUNT, bytes_max=bytes_max, age_max_us=age_max_us)
        self._keys = Keys()
        self._listeners: list[Listener] = []
        self._watchers: list[Watcher] = []
        self._lock = threading.RLock()
        self.durability = ""
        """Durability in words; empty, because it ends with the process."""

    def listen(self, listener: Listener) -> None:
        """Call `listener` with every notification from now on."""
        self._listeners.append(listener)

    def watch(self, watcher: Watcher) -> None:
        """Report state changes of the broker to `watcher`; within one process there are none."""
        self._watchers.append(watcher)

    def position(self) -> Position:
        """Return the position of the newest notification, which all listeners have got when this returns."""
        with self._lock:
            return self._position()

    def _position(self) -> Position:
        return Position(self._epoch, self._offset)

    def publish(self, draft: Draft) -> Published:
        """Assign an offset, store and deliver. Raises `Conflict` if the idempotency key published other content."""
        (outcome,) = self.publish_all((draft,))
        if isinstance(outcome, Conflict):
            raise outcome
        return outcome

    def publish_all(self, drafts: Sequence[Draft]) -> list[Published | Conflict]:
        """Assign consecutive offsets to a batch, store and deliver it; return the outcome of each draft."""
        with self._lock:
            outcomes = {index: used for index, draft in enumerate(drafts) if (used := self._used(draft))}
            new = self._first_uses(drafts, outcomes)
            self._keep([(drafts[index], notification) for index, notification in new.items()])
            # Assigned last: a notification that cannot be encoded or stored must not leave a hole in the order.
            self._offset += len(new)
            for index, notification in new.items():
                (self._trials if drafts[index].trial else self._operator).append(notification)
            counted = self._tell(list(new.values()))
            for (index, notification), recipients in zip(new.items(), counted, strict=True):
                outcomes[index] = Published(notification, recipients)
                key = drafts[index].idempotency_key
                if key is not None:
                    self._keys.remember(key, use_of(drafts[index], notification, recipients))
            return [outcomes.get(index) or self._used_in_batch(draft) for index, draft in enumerate(drafts)]

    def _first_uses(self, drafts: Sequence[Draft], used: Container[int]) -> dict[int, Notification]:
        """Build the notifications, by index, of drafts that are new and do not repeat a key of the same batch."""
        new: dict[int, Notification] = {}
        keys: set[str] = set()
        for index, draft in enumerate(drafts):
            key = draft.idempotency_key
            if index in used or key in keys:
                continue
            if key is not None:
                keys.add(key)
            offset = self._offset + len(new) + 1
            new[index] = self._built(draft, offset, due_us=draft.due_us, sent_us=clock.now_us())
        return new

    @property
    def has_rooms(self) -> bool:
        """Always True: there is no other server."""
        return True

    def leave_rooms(self) -> None:
        """Do nothing: no other server waits for the rooms."""

    def close(self) -> None:
        """Do nothing: the memory is freed with the process."""

    def _tell(self, notifications: Sequence[Notification]) -> list[dict[str, int]]:
        """Call every listener; return for each notification the count of connections reached, by transport."""
        recipients: list[dict[str, int]] = [{} for _ in notifications]
        for listener in self._listeners if notifications else ():
            for total, counts in zip(recipients, listener(notifications), strict=True):
                for transport, count in counts.items():
                    total[transport] = total.get(transport, 0) + count
        return recipients

    def _keep(self, new: Sequence[tuple[Draft, Notification]]) -> None:
        """Store notifications durably; here nothing. A subclass stores all or none, and then raises `NotKept`."""

    def reaches(self, since: Position, wanted: Filter) -> bool:
        """Return True if history holds everything after `since` that `wanted` matches."""
        with self._lock:
            now_us = clock.now_us()
            self._operator.expire(now_us)
            self._trials.expire(now_us)
            return self._is_known(since) and self._lost_through(wanted) <= since.offset

    def earlier(self, draft: Draft) -> Published | None:
        """Return what the draft's idempotency key published before, if anything. Raises `Conflict`."""
        with self._lock:
            use = self._keys.find(draft)
            return None if use is None else self._repeated(draft, use)

    def newer_count(self, since: Position) -> int:
        """Return how many notifications of history `attach` looks at at most for a resume from `since`."""
        with self._lock:
            stored = len(self._operator) + len(self._trials)
            return min(stored, self._offset - since.offset) if self._is_known(since) else stored

    def attach(self, since: Position | None, wanted: Filter, start: Callable[[Replay], None]) -> None:
        """Call `start` with the replay after `since`, while nobody can publish."""
        with self._lock:
            start(Replay(None, ()) if since is None else self._missed(since, wanted))

    def history(self, after: int, limit: int) -> tuple[Notification, ...]:
        """Return the operator's notifications to everyone after an offset, oldest first."""
        with self._lock:
            found = []
            for notification in self._operator.after(after, clock.now_us()):
                if notification.targets.devices is None and notification.targets.transport is None:
                    found.append(notification)
                    if len(found) == limit:
                        break
            return tuple(found)

    def _built(self, draft: Draft, offset: int, *, due_us: ServerUs, sent_us: ServerUs) -> Notification:
        return Notification(
            position=Position(self._epoch, offset),
            topic=draft.topic,
            due_us=due_us,
            sent_us=sent_us,
            title=draft.title,
            body=draft.body,
            data=draft.data,
            targets=draft.targets,
            expires_us=None if draft.ttl_us is None else ServerUs(sent_us + draft.ttl_us),
        )

    def _used(self, draft: Draft) -> Published | Conflict | None:
        """Return the outcome of a draft whose key was used before; `None` if it was not."""
        try:
            return self.earlier(draft)
        except Conflict as conflict:
            return conflict

    def _used_in_batch(self, draft: Draft) -> Published | Conflict:
        """Return the outcome of a draft whose key an earlier draft of the same batch has just used."""
        used = self._used(draft)
        assert used is not None, "an earlier draft of the batch has used its key"
        return used

    def _repeated(self, draft: Draft, use: Use) -> Published:
        """Rebuild what the key published: the draft has the same content, and `use` has the rest."""
        notification = self._built(draft, use.offset, due_us=use.due_us, sent_us=use.sent_us)
        return Published(notification, use.recipients, repeated=True)

    def _is_known(self, position: Position) -> bool:
        return position.epoch == self._epoch and position.offset <= self._offset

    def _lost_through(self, wanted: Filter) -> int:
        """Return the highest dropped offset that `wanted` might have matched.

        Trials matter only to clients that take part: a subscription that names its topics counts only trials it
        names.
        """
        if wanted.topics is not None and not any(is_trial_topic(topic) for topic in wanted.topics):
            return self._operator.lost_through
        return max(self._operator.lost_through, self._trials.lost_through)

    def _missed(self, since: Position, wanted: Filter) -> Replay:
        known = self._is_known(since)
        after = since.offset if known else 0
        now_us = clock.now_us()
        rings = (self._operator.after(after, now_us), self._trials.after(after, now_us))
        missed = tuple(each for each in merge(*rings, key=lambda each: each.offset) if wanted.matches(each))
        lost_through = self._lost_through(wanted)
        if known and lost_through <= after:
            return Replay(None, missed)
        # The position lies just before the first notification of the replay: it must never move backwards.
        stands_at = Position(self._epoch, missed[0].offset - 1 if missed else self._offset)
        return Replay(Gap(after + 1, lost_through, "expired" if known else "epoch", stands_at), missed)


def use_of(draft: Draft, notification: Notification, recipients: dict[str, int]) -> Use:
    """Return what is stored about the use of a draft's idempotency key."""
    return Use(fingerprint(draft), notification.offset, notification.due_us, notification.sent_us, recipients)
