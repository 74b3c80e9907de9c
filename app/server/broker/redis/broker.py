"""The broker that several servers share: Redis orders and stores, and each server reads from its own copy of history.

    publish --append--> Redis --(wait)--> reader of every server --> local copy --> listeners
               |                                                         ^
               +---- taken at once if its offset is the next one --------+       resume, history <-- local copy

Reading is that of `memory://`, from the process's own copy, which has the same bounds as the streams in Redis. So a
resume needs no round trip, works on any server, and works while Redis is unreachable.

Publishes are ordered inside Redis, and each server takes them strictly in that order. A hole is read again; what
Redis has dropped meanwhile is reported as a gap.

Subscribers stay connected while Redis is unreachable. Continuity breaks in two cases: Redis has dropped entries that
this server has not read yet, or it has lost acknowledged ones, which begins a new epoch. Then every connection is
ended, and the clients reconnect with their positions and learn of the gap.
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
from app.server.broker.redis.entries import (
    EncodedDraft,
    Entry,
    decode_entry,
    decode_use,
    encode_draft,
    encode_use,
    offset_of,
)
from app.server.broker.redis.follow import Follower
from app.server.broker.redis.link import ADVICE, RedisLink
from app.server.broker.redis.load import PAGE_ENTRIES, Bounds, Page, decode_page, load
from app.server.broker.redis.rooms import Rooms

EPOCH_TRIES = 5
"""Attempts of a publish that meets a new epoch."""

RECIPIENTS_REMEMBERED = 1000
"""Counts that are kept because the reader took a notification before its publish had Redis' reply."""

logger = logging.getLogger("siar.broker")


class RedisBroker(MemoryBroker):
    """`redis://`: one order and one history for all servers that name the same Redis and prefix."""

    def __init__(
        self, link: RedisLink, *, count_max: int, bytes_max: int, age_max_us: int, server: str = ""
    ) -> None:
        """`server`: the name that claims the rooms; empty: it wants none. Raises `BrokerAway`, `StoreError`."""
        super().__init__(count_max=count_max, bytes_max=bytes_max, age_max_us=age_max_us)
        self._link = link
        self._bounds = {
            "operator": Bounds(count_max, bytes_max, age_max_us),
            "trials": Bounds(TRIAL_HISTORY_COUNT, bytes_max, age_max_us),
        }
        self._mark = ""
        self._recipients: OrderedDict[int, dict[str, int]] = OrderedDict()
        self._changing = threading.Lock()
        """Held while a history is loaded, so that other threads wait instead of loading it too."""
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
        """True unless another server on the same Redis has the rooms."""
        return self._rooms.are_here

    def leave_rooms(self) -> None:
        """Release the rooms for another server."""
        self._rooms.leave()

    def close(self) -> None:
        """Shut down in order. The broker must not be used afterwards."""
        self._follower.stop()

    def hang_up(self) -> None:
        """Close the connections to Redis."""
        self._link.hang_up()

    def history_cache(self, *, ttl_s: float) -> HistoryCache:
        """Return the shared cache of history responses."""
        return HistoryCache(self._link, ttl_ms=round(1000 * ttl_s), is_away=lambda: self._follower.is_away)

    def publish(self, draft: Draft) -> Published:
        """Assign an offset, store and deliver. Raises `Conflict`, `NotKept`, and `BrokerAway` (at once, without waiting)."""
        earlier = self.earlier(draft)
        if earlier is not None:
            return earlier
        if self._follower.is_away:
            raise BrokerAway(f"Redis is away: nothing was published. {ADVICE}")
        sent_us = clock.now_us()
        mark = secrets.token_hex(8)
        for _ in range(EPOCH_TRIES):
            epoch, known, known_mark = self._known_state()
            encoded = encode_draft(draft, epoch=epoch, mark=mark, sent_us=sent_us)
            answer = self._append(draft, encoded, (epoch, known, known_mark), sent_us)
            if answer[0] == b"used":
                return self._used(draft, decode_use(answer[1]))
            if answer[0] == b"ok":
                return self._published(draft, encoded.entry(int(answer[1])))
            self.change_epoch(epoch, lost=answer[0] == b"lost")
        raise BrokerAway(f"Redis changes its history faster than it can be read. {ADVICE}")

    def reaches(self, since: Position, wanted: Filter) -> bool:
        """Return True if history holds everything after `since` that `wanted` matches."""
        self._read_up_to(since)
        return super().reaches(since, wanted)

    def attach(self, since: Position | None, wanted: Filter, start: Callable[[Replay], None]) -> None:
        """Call `start` with the replay after `since`, while nothing is taken from Redis."""
        if since is not None:
            self._read_up_to(since)
        super().attach(since, wanted, start)

    def catch_up(self) -> None:
        """Take everything new from Redis. Raises `BrokerAway`, `StoreError` and `NotKept`."""
        while True:
            epoch, known, mark = self._known_state()
            answer = self._link.ask("read", epoch, known, mark, PAGE_ENTRIES)
            if answer[0] != b"ok":
                self.change_epoch(epoch, lost=answer[0] == b"lost")
                return
            page = decode_page(answer)
            with self._lock:
                if epoch == self._epoch:
                    self._take_page(page)
            if page.is_last:
                return

    def follow(self) -> None:
        """Wait a while for something new and take it. Raises as `catch_up` does."""
        self._rooms.keep()
        _, known, _ = self._known_state()
        answer = self._link.wait(known)
        # Own publishes come back here and were taken before: skip them without decoding.
        new = [decode_entry(*each) for each in answer if offset_of(each[0]) > self._offset]
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

    def report_away(self, *, is_away: bool) -> None:
        """Report that Redis has become unreachable, or reachable again."""
        for watcher in self._watchers:
            watcher.on_away(is_away=is_away)

    def change_epoch(self, epoch: str, *, lost: bool) -> None:
        """Leave an epoch, because Redis has lost entries of it (`lost`) or has a newer one already."""
        with self._changing:
            if self._epoch != epoch:
                return  # Another thread of this process has done it.
            if lost:
                self._link.ask("renew", epoch, secrets.token_hex(4))
                logger.warning("Redis has lost notifications that it had acknowledged: a new epoch begins.")
            self._load()

    def _read_up_to(self, position: Position) -> None:
        """Catch up for a client that comes from a server which is ahead of this one, so that its position is known."""
        epoch, known, _ = self._known_state()
        if position.epoch != epoch or position.offset <= known or self._follower.is_away:
            return
        # If that fails, the local history answers; the follower thread finds the fault and reports it.
        with contextlib.suppress(SiarError):
            self.catch_up()

    def _known_state(self) -> tuple[str, int, str]:
        with self._lock:
            return self._epoch, self._offset, self._mark

    def _append(
        self, draft: Draft, encoded: EncodedDraft, stand: tuple[str, int, str], sent_us: ServerUs
    ) -> list[bytes]:
        stream = "trials" if draft.trial else "operator"
        use = ""
        if draft.idempotency_key is not None:
            use = encode_use(fingerprint(draft), draft.due_us, sent_us)
        try:
            return self._link.ask(
                "append",
                *stand,
                stream,
                encoded.wire,
                encoded.mark,
                sent_us,
                *astuple(self._bounds[stream]),
                draft.idempotency_key or "",
                use,
                KEYS_MAX,
                encoded.metadata,
            )
        except BrokerAway:
            self._follower.report_unreachable()
            raise

    def _published(self, draft: Draft, entry: Entry) -> Published:
        with self._lock:
            is_next = self._take_next(entry)
        if not is_next and self._offset < entry.offset:
            try:
                self.catch_up()
            except SiarError:
                # Redis became unreachable or unreadable. The notification is stored all the same, and listeners get it
                # when Redis can be read again: the publisher must not be told that nothing was published.
                self._follower.report_unreachable()
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
        """Take an entry if it is the next one; return True if it was. Call it under the lock."""
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
                self._skip_lost(page)
            if entry.offset > self._offset:
                self._take(entry)
        if page.is_last and page.newest > self._offset:
            self._skip_lost(page)
            self._offset, self._mark = page.newest, page.newest_mark

    def _skip_lost(self, page: Page) -> None:
        """Skip dropped entries, and break continuity so that no connected client misses them silently."""
        self._operator.lost_through = max(self._operator.lost_through, page.operator_lost)
        self._trials.lost_through = max(self._trials.lost_through, page.trials_lost)
        self._break_continuity()

    def _break_continuity(self) -> None:
        for watcher in self._watchers:
            watcher.on_broken()

    def _load(self) -> None:
        """Load the whole history, and serve from it from then on."""
        loaded = load(self._link, self._bounds)
        with self._lock:
            self._operator, self._trials, self._keys = loaded.operator, loaded.trials, Keys()
            self._epoch, self._offset, self._mark = loaded.epoch, loaded.newest, loaded.newest_mark
            self._recipients.clear()
            self._break_continuity()
