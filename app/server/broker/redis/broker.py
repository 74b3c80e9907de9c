"""The broker that several servers share: Redis orders and keeps, each server holds a copy of history and serves from it.

    publish --append--> Redis --(wait)--> the reader of every server --> rings --> listeners
               |                                                           ^
               +---- its offset is the next: taken at once ----------------+      resume, history <-- rings

Reading is that of `memory://`, from the process's own rings, which the bounds keep as they keep Redis' streams: a
resume asks nobody, on whichever server it comes, and goes on while Redis is away. What is published is ordered inside
Redis and taken by each server strictly one after the other; a hole is read again, and what Redis has dropped meanwhile
is told as a gap.

Subscribers stay while Redis is away. Where continuity is broken (history ran away from this server, or Redis lost what
it had acknowledged, which begins a new epoch) every connection is ended, comes back with its position, and is told.
"""

from __future__ import annotations

import contextlib
import logging
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import astuple

from app import clock
from app.core.errors import BrokerAway, Conflict, SiarError
from app.core.position import Position
from app.core.units import ServerUs
from app.core.wire import TRANSPORTS
from app.server.broker.base import Draft, Filter, Published, Replay
from app.server.broker.history_cache import HistoryCache
from app.server.broker.keys import KEYS_MAX, Keys, Use, fingerprint
from app.server.broker.memory import TRIAL_HISTORY_COUNT, MemoryBroker
from app.server.broker.redis.entries import Entry, Kept, entry_of, kept_of, offset_of, use_from, use_text
from app.server.broker.redis.follow import Follower
from app.server.broker.redis.link import ADVICE, RedisLink
from app.server.broker.redis.load import Bounds, load
from app.server.broker.redis.pages import PAGE_ENTRIES, Page, page_of
from app.server.broker.redis.rooms import Rooms

EPOCH_TRIES = 5
"""A publish that meets a new epoch learns it and tries again."""

RECIPIENTS_REMEMBERED = 1000
"""Of what the reader took before the publish that it belongs to heard its own answer."""

logger = logging.getLogger("siar.broker")


class RedisBroker(MemoryBroker):
    """`redis://`: one order and one history for all servers that name the same Redis and prefix."""

    def __init__(
        self, link: RedisLink, *, count_max: int, bytes_max: int, age_max_us: int, server: str = ""
    ) -> None:
        """`server`: the name under which it asks for the rooms; empty: it wants none. Raises `BrokerAway`, `StoreError`."""
        super().__init__(count_max=count_max, bytes_max=bytes_max, age_max_us=age_max_us)
        self._link = link
        self._bounds = {
            "operator": Bounds(count_max, bytes_max, age_max_us),
            "trials": Bounds(TRIAL_HISTORY_COUNT, bytes_max, age_max_us),
        }
        self._mark = ""
        self._recipients: OrderedDict[int, dict[str, int]] = OrderedDict()
        self._changing = threading.Lock()
        """Held by who loads a history: others wait for it instead of loading it too."""
        self._epoch = ""
        self._follower = Follower(self)
        self._rooms = Rooms(link, server)
        self.durability = link.check()
        self._load()
        self._rooms.keep()
        self._follower.start()
        logger.info("Redis %s, %s.", link.address, self.durability)

    @property
    def has_rooms(self) -> bool:
        """Whether no other server on the same Redis has them."""
        return self._rooms.are_here

    def leave_rooms(self) -> None:
        """Let another server have them."""
        self._rooms.leave()

    def close(self) -> None:
        """End in order. The broker must not be used any more."""
        self._follower.stop()

    def hang_up(self) -> None:
        """Close the connections."""
        self._link.hang_up()

    def history_cache(self, *, ttl_s: float) -> HistoryCache:
        """Where answers to who asks for history are kept."""
        return HistoryCache(self._link, ttl_ms=round(1000 * ttl_s), is_away=lambda: self._follower.is_away)

    def publish(self, draft: Draft) -> Published:
        """Order, keep and hand on. Raises `Conflict`, `NotKept`, and `BrokerAway`: at once while Redis is away."""
        earlier = self.earlier(draft)
        if earlier is not None:
            return earlier
        if self._follower.is_away:
            raise BrokerAway(f"Redis is away: nothing was published. {ADVICE}")
        sent_us = clock.now_us()
        mark = secrets.token_hex(8)
        for _ in range(EPOCH_TRIES):
            epoch, known, known_mark = self._stand()
            kept = kept_of(draft, epoch=epoch, mark=mark, sent_us=sent_us)
            answer = self._append(draft, kept, (epoch, known, known_mark), sent_us)
            if answer[0] == b"used":
                return self._used(draft, use_from(answer[1]))
            if answer[0] == b"ok":
                return self._published(draft, kept.entry(int(answer[1])))
            self.begin_anew(epoch, lost=answer[0] == b"lost")
        raise BrokerAway(f"Redis changes its history faster than it can be read. {ADVICE}")

    def reaches(self, since: Position, wanted: Filter) -> bool:
        """Whether history holds everything after `since` that `wanted` would get."""
        self._read_up_to(since)
        return super().reaches(since, wanted)

    def attach(self, since: Position | None, wanted: Filter, start: Callable[[Replay], None]) -> None:
        """Call `start` with what was missed since, while nothing is taken."""
        if since is not None:
            self._read_up_to(since)
        super().attach(since, wanted, start)

    def catch_up(self) -> None:
        """Take everything that Redis has and we have not. Raises `BrokerAway`, `StoreError` and `NotKept`."""
        while True:
            epoch, known, mark = self._stand()
            answer = self._link.ask("read", epoch, known, mark, PAGE_ENTRIES)
            if answer[0] != b"ok":
                self.begin_anew(epoch, lost=answer[0] == b"lost")
                return
            page = page_of(answer)
            with self._lock:
                if epoch == self._epoch:
                    self._take_page(page)
            if page.is_last:
                return

    def follow(self) -> None:
        """Wait for what is new for a while, and take it. Raises as `catch_up` does."""
        self._rooms.keep()
        _, known, _ = self._stand()
        answer = self._link.wait(known)
        # What this server published itself comes here too, and was taken long ago: not worth decoding.
        new = [entry_of(*each) for each in answer if offset_of(each[0]) > self._offset]
        entries = sorted(new, key=lambda each: each.offset)
        if self._follower.is_stopped:
            return
        with self._lock:
            is_whole = True
            for entry in entries:
                if entry.offset > self._offset:
                    is_whole = self._take_next(entry)
                    if not is_whole:
                        break
        if not is_whole:
            self.catch_up()

    def say_away(self, *, is_away: bool) -> None:
        """Redis has gone, or is back."""
        for watcher in self._watchers:
            watcher.on_away(is_away=is_away)

    def begin_anew(self, epoch: str, *, lost: bool) -> None:
        """Leave an epoch: Redis has lost what we know (`lost`), or has another one already."""
        with self._changing:
            if self._epoch != epoch:
                return  # Somebody else of this process was faster.
            if lost:
                self._link.ask("renew", epoch, secrets.token_hex(4))
                logger.warning("Redis has lost notifications that it had acknowledged: a new epoch begins.")
            self._load()

    def _read_up_to(self, position: Position) -> None:
        """Read on for a client that comes from a server which is ahead of this one: its position is no stranger's."""
        epoch, known, _ = self._stand()
        if position.epoch != epoch or position.offset <= known or self._follower.is_away:
            return
        # Where that fails, it is answered by what is here; whoever follows Redis finds out what is wrong, and says so.
        with contextlib.suppress(SiarError):
            self.catch_up()

    def _stand(self) -> tuple[str, int, str]:
        with self._lock:
            return self._epoch, self._offset, self._mark

    def _append(
        self, draft: Draft, kept: Kept, stand: tuple[str, int, str], sent_us: ServerUs
    ) -> list[bytes]:
        stream = "trials" if draft.trial else "operator"
        use = ""
        if draft.idempotency_key is not None:
            use = use_text(fingerprint(draft), draft.due_us, sent_us)
        try:
            return self._link.ask(
                "append",
                *stand,
                stream,
                kept.wire,
                kept.mark,
                sent_us,
                *astuple(self._bounds[stream]),
                draft.idempotency_key or "",
                use,
                KEYS_MAX,
                kept.beside,
            )
        except BrokerAway:
            self._follower.went_away()
            raise

    def _published(self, draft: Draft, entry: Entry) -> Published:
        with self._lock:
            is_next = self._take_next(entry)
        if not is_next and self._offset < entry.offset:
            try:
                self.catch_up()
            except SiarError:
                # Redis went, or refuses to be read. It is kept all the same, and will be told when Redis can be read again:
                # the publisher must not hear that nothing was published.
                self._follower.went_away()
        with self._lock:
            recipients = self._recipients.pop(entry.offset, dict.fromkeys(TRANSPORTS, 0))
            notification = entry.notification(entry.epoch)
            if draft.idempotency_key is not None and entry.epoch == self._epoch:
                use = Use(fingerprint(draft), entry.offset, draft.due_us, notification.sent_us, recipients)
                self._keys.remember(draft.idempotency_key, use)
        return Published(notification, recipients)

    def _used(self, draft: Draft, use: Use) -> Published:
        if use.fingerprint != fingerprint(draft):
            raise Conflict(
                "This idempotency_key was used for another notification; use a new key for a new one."
            )
        return self._repeated(draft, use)

    def _take_next(self, entry: Entry) -> bool:
        """Take an entry if it is the next; answers whether it was. Under the lock."""
        if entry.offset != self._offset + 1 or entry.epoch != self._epoch:
            return False
        self._take(entry)
        return True

    def _take(self, entry: Entry) -> None:
        notification = entry.notification(self._epoch)
        self._offset, self._mark = entry.offset, entry.mark
        (self._trials if entry.is_trial else self._operator).append(notification)
        self._recipients[entry.offset] = self._tell(notification)
        if len(self._recipients) > RECIPIENTS_REMEMBERED:
            self._recipients.popitem(last=False)

    def _take_page(self, page: Page) -> None:
        for entry in page.entries:
            if entry.offset > self._offset + 1:
                self._leave_out(page)
            if entry.offset > self._offset:
                self._take(entry)
        if page.is_last and page.newest > self._offset:
            self._leave_out(page)
            self._offset, self._mark = page.newest, page.newest_mark

    def _leave_out(self, page: Page) -> None:
        """History has dropped what was to come next: who was connected must not step over it in silence."""
        self._operator.lost_through = max(self._operator.lost_through, page.operator_lost)
        self._trials.lost_through = max(self._trials.lost_through, page.trials_lost)
        self._break()

    def _break(self) -> None:
        for watcher in self._watchers:
            watcher.on_broken()

    def _load(self) -> None:
        """Read the whole history, and serve from it from then on."""
        loaded = load(self._link, self._bounds)
        with self._lock:
            self._operator, self._trials, self._keys = loaded.operator, loaded.trials, Keys()
            self._epoch, self._offset, self._mark = loaded.epoch, loaded.newest, loaded.newest_mark
            self._recipients.clear()
            self._break()
