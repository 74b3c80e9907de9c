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
from collections.abc import Callable, Sequence
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

RECIPIENTS_REMEMBERED = 2000
"""Counts that are kept because the reader took notifications before their publish had Redis' reply: a batch and more."""

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

    def publish_all(self, drafts: Sequence[Draft]) -> list[Published | Conflict]:
        """Assign consecutive offsets to a batch, store and deliver it; return the outcome of each draft.

        Raises `NotKept` and `BrokerAway` (at once, without waiting).
        """
        outcomes = [self._used(draft) for draft in drafts]
        new = [draft for draft, outcome in zip(drafts, outcomes, strict=True) if outcome is None]
        appended = iter(self._appended(new))
        return [next(appended) if outcome is None else outcome for outcome in outcomes]

    def _appended(self, drafts: Sequence[Draft]) -> list[Published | Conflict]:
        if not drafts:
            return []
        if self._follower.is_away:
            raise BrokerAway(f"Redis is away: nothing was published. {ADVICE}")
        sent_us = clock.now_us()
        marks = [secrets.token_hex(8) for _ in drafts]
        for _ in range(EPOCH_TRIES):
            known_state = self._known_state()
            encoded = [
                encode_draft(draft, epoch=known_state[0], mark=mark, sent_us=sent_us)
                for draft, mark in zip(drafts, marks, strict=True)
            ]
            verdict, *answer = self._append(drafts, encoded, known_state, sent_us)
            if verdict == b"ok":
                return self._taken(drafts, encoded, list(zip(answer[::2], answer[1::2], strict=True)))
            self.change_epoch(known_state[0], lost=verdict == b"lost")
        raise BrokerAway(f"Redis changes its history faster than it can be read. {ADVICE}")

    def _taken(
        self,
        drafts: Sequence[Draft],
        encoded: Sequence[EncodedDraft],
        answers: Sequence[tuple[bytes, bytes]],
    ) -> list[Published | Conflict]:
        """Deliver the new entries to this server's listeners, and return the outcome of each draft."""
        entries = [
            each.entry(int(value)) if verdict == b"new" else None
            for each, (verdict, value) in zip(encoded, answers, strict=True)
        ]
        self._take_own([entry for entry in entries if entry is not None])
        with self._lock:
            return [
                self._used_elsewhere(draft, decode_use(value))
                if entry is None
                else self._published(draft, entry)
                for draft, entry, (_, value) in zip(drafts, entries, answers, strict=True)
            ]

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
            self._take(self._following(entries))
            is_whole = not entries or entries[-1].offset <= self._offset
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
        self,
        drafts: Sequence[Draft],
        encoded: Sequence[EncodedDraft],
        known_state: tuple[str, int, str],
        sent_us: ServerUs,
    ) -> list[bytes]:
        stream = "trials" if drafts[0].trial else "operator"
        arguments: list[str] = []
        for draft, each in zip(drafts, encoded, strict=True):
            key, use = draft.idempotency_key or "", ""
            if key:
                use = encode_use(fingerprint(draft), draft.due_us, sent_us)
            arguments += (each.mark, each.wire, each.metadata, key, use)
        try:
            return self._link.ask(
                "append",
                *known_state,
                stream,
                sent_us,
                *astuple(self._bounds[stream]),
                KEYS_MAX,
                *arguments,
            )
        except BrokerAway:
            self._follower.report_unreachable()
            raise

    def _take_own(self, entries: Sequence[Entry]) -> None:
        """Take the entries that this server has just published, and those of other servers before them."""
        if not entries:
            return
        with self._lock:
            self._take(self._following(entries))
            is_behind = self._offset < entries[-1].offset
        if is_behind:
            try:
                self.catch_up()
            except SiarError:
                # Redis became unreachable or unreadable. The batch is stored all the same, and listeners get it
                # when Redis can be read again: the publisher must not be told that nothing was published.
                self._follower.report_unreachable()

    def _published(self, draft: Draft, entry: Entry) -> Published:
        """Return the outcome of a new entry and remember its key. Call it under the lock."""
        recipients = self._recipients.pop(entry.offset, dict.fromkeys(TRANSPORTS, 0))
        notification = entry.notification(entry.epoch)
        if draft.idempotency_key is not None and entry.epoch == self._epoch:
            use = Use(fingerprint(draft), entry.offset, draft.due_us, notification.sent_us, recipients)
            self._keys.remember(draft.idempotency_key, use)
        return Published(notification, recipients)

    def _used_elsewhere(self, draft: Draft, use: Use) -> Published | Conflict:
        """Return the outcome of a draft whose key Redis knows, but this server did not before the publish."""
        used = self._used(draft)  # By an earlier draft of the same batch.
        if used is not None:
            return used
        if use.fingerprint != fingerprint(draft):
            return Conflict(
                "This idempotency_key was used for another notification; use a new key for a new one."
            )
        return self._repeated(draft, use)

    def _following(self, entries: Sequence[Entry]) -> list[Entry]:
        """Return those of the ordered `entries` that come next without a hole. Call it under the lock."""
        found: list[Entry] = []
        for entry in entries:
            following = self._offset + len(found) + 1
            if entry.offset < following:
                continue
            if entry.offset > following or entry.epoch != self._epoch:
                break
            found.append(entry)
        return found

    def _take(self, entries: Sequence[Entry]) -> None:
        """Take consecutive entries and call the listeners once with all of them. Call it under the lock."""
        if not entries:
            return
        notifications = [entry.notification(self._epoch) for entry in entries]
        self._offset, self._mark = entries[-1].offset, entries[-1].mark
        for entry, notification in zip(entries, notifications, strict=True):
            (self._trials if entry.is_trial else self._operator).append(notification)
        for entry, recipients in zip(entries, self._tell(notifications), strict=True):
            self._recipients[entry.offset] = recipients
        while len(self._recipients) > RECIPIENTS_REMEMBERED:
            self._recipients.popitem(last=False)

    def _take_page(self, page: Page) -> None:
        run: list[Entry] = []
        for entry in page.entries:
            newest = run[-1].offset if run else self._offset
            if entry.offset > newest + 1:
                self._take(run)
                run = []
                self._skip_lost(page)
            if entry.offset > newest:
                run.append(entry)
        self._take(run)
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
