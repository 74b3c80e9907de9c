"""The whole history as Redis has it, for a server that begins, or begins anew."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass

from app.server.broker.history import History
from app.server.broker.redis.link import RedisLink
from app.server.broker.redis.pages import PAGE_ENTRIES, Page, page_of


@dataclass(frozen=True, slots=True)
class Bounds:
    """Of one of the two histories, as the scripts are given them."""

    count_max: int
    bytes_max: int
    age_max_us: int

    def ring(self) -> History:
        """An empty one within them."""
        return History(count_max=self.count_max, bytes_max=self.bytes_max, age_max_us=self.age_max_us)


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a server serves from."""

    epoch: str
    newest: int
    newest_mark: str
    operator: History
    trials: History


def load(link: RedisLink, bounds: Mapping[str, Bounds]) -> Loaded:
    """Everything; an empty Redis gets an epoch. Raises `BrokerAway`, `StoreError` and `NotKept`."""
    while True:
        epoch = link.ask("join", secrets.token_hex(4))[0].decode()
        operator, trials = bounds["operator"].ring(), bounds["trials"].ring()
        page = _load_pages(link, epoch, operator, trials)
        if page is None:
            continue  # The epoch changed meanwhile.
        operator.lost_through = max(operator.lost_through, page.operator_lost)
        trials.lost_through = max(trials.lost_through, page.trials_lost)
        return Loaded(epoch, page.newest, page.newest_mark, operator, trials)


def _load_pages(link: RedisLink, epoch: str, operator: History, trials: History) -> Page | None:
    """The last page, everything being in the rings."""
    read_through = 0
    while True:
        answer = link.ask("read", epoch, read_through, "", PAGE_ENTRIES)
        if answer[0] != b"ok":
            return None
        page = page_of(answer)
        for entry in page.entries:
            (trials if entry.is_trial else operator).append(entry.notification(epoch))
            read_through = entry.offset
        if page.is_last:
            return page
