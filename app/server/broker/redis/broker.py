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
from app.server.broker.redis.entries import Entry, Kept, entry_of, kept_of, offset_of, use_from, use_text
from app.server.broker.redis.follow import Follower
from app.server.broker.redis.link import ADVICE, RedisLink
from app.server.broker.redis.load import Bounds, load
from app.server.broker.redis.pages import PAGE_ENTRIES, Page, page_of
from app.server.broker.redis.rooms import Rooms

EPOCH_TRIES = 5
"""A publish that meets a new epoch learns it and tries again."""

RECIPIENTS_REMEMBERED = 2000
"""Of what the reader took before the publish that it belongs to heard its own answer: a batch and more."""

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

    def publish_all(self, drafts: Sequence[Draft]) -> list[Published | Conflict]:
        """Order, keep and hand on several, with nothing in between; return what became of each.

        Raises `NotKept`, and `BrokerAway`: at once while Redis is away.
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
            stand = self._stand()
            kept = [
                kept_of(draft, epoch=stand[0], mark=mark, sent_us=sent_us)
                for draft, mark in zip(drafts, marks, strict=True)
            ]
            verdict, *answer = self._append(drafts, kept, stand, sent_us)
            if verdict == b"ok":
                return self._taken(drafts, kept, list(zip(answer[::2], answer[1::2], strict=True)))
            self.begin_anew(stand[0], lost=verdict == b"lost")
        raise BrokerAway(f"Redis changes its history faster than it can be read. {ADVICE}")

    def _taken(
        self, drafts: Sequence[Draft], kept: Sequence[Kept], answers: Sequence[tuple[bytes, bytes]]
    ) -> list[Published | Conflict]:
        """What became of drafts by Redis' answers, once what is new has been told here, too."""
        entries = [
            each.entry(int(value)) if verdict == b"new" else None
            for each, (verdict, value) in zip(kept, answers, strict=True)
        ]
        self._take_own([entry for entry in entries if entry is not None])
        with self._lock:
            return [
                self._used_elsewhere(draft, use_from(value))
                if entry is None
                else self._published(draft, entry)
                for draft, entry, (_, value) in zip(drafts, entries, answers, strict=True)
            ]

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
            self._take(self._following(entries))
            is_whole = not entries or entries[-1].offset <= self._offset
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
        self,
        drafts: Sequence[Draft],
        kept: Sequence[Kept],
        stand: tuple[str, int, str],
        sent_us: ServerUs,
    ) -> list[bytes]:
        stream = "trials" if drafts[0].trial else "operator"
        arguments: list[str] = []
        for draft, each in zip(drafts, kept, strict=True):
            key, use = draft.idempotency_key or "", ""
            if key:
                use = use_text(fingerprint(draft), draft.due_us, sent_us)
            arguments += (each.mark, each.wire, each.beside, key, use)
        try:
            return self._link.ask(
                "append", *stand, stream, sent_us, *astuple(self._bounds[stream]), KEYS_MAX, *arguments
            )
        except BrokerAway:
            self._follower.went_away()
            raise

    def _take_own(self, entries: Sequence[Entry]) -> None:
        """Take what this server has just published, and whatever others did before it."""
        if not entries:
            return
        with self._lock:
            self._take(self._following(entries))
            is_behind = self._offset < entries[-1].offset
        if is_behind:
            try:
                self.catch_up()
            except SiarError:
                # Redis went, or refuses to be read. It is kept all the same, and will be told when Redis can be read again:
                # the publisher must not hear that nothing was published.
                self._follower.went_away()

    def _published(self, draft: Draft, entry: Entry) -> Published:
        """Under the lock."""
        recipients = self._recipients.pop(entry.offset, dict.fromkeys(TRANSPORTS, 0))
        notification = entry.notification(entry.epoch)
        if draft.idempotency_key is not None and entry.epoch == self._epoch:
            use = Use(fingerprint(draft), entry.offset, draft.due_us, notification.sent_us, recipients)
            self._keys.remember(draft.idempotency_key, use)
        return Published(notification, recipients)

    def _used_elsewhere(self, draft: Draft, use: Use) -> Published | Conflict:
        """What became of a draft whose key Redis knows, and we did not when we asked."""
        used = self._used(draft)  # By one before it, which was published with it.
        if used is not None:
            return used
        if use.fingerprint != fingerprint(draft):
            return Conflict(
                "This idempotency_key was used for another notification; use a new key for a new one."
            )
        return self._repeated(draft, use)

    def _following(self, entries: Sequence[Entry]) -> list[Entry]:
        """Those of `entries`, which are in order, that come next without a hole. Under the lock."""
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
        """Take entries, which follow each other, and tell of them together. Under the lock."""
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
                self._leave_out(page)
            if entry.offset > newest:
                run.append(entry)
        self._take(run)
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
