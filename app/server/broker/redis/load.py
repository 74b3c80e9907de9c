"""Reading the history from Redis in pages: a new server loads all of it, and later what is new."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from heapq import merge
from typing import Any

from app.server.broker.history import History
from app.server.broker.redis.entries import Entry, decode_entry
from app.server.broker.redis.link import RedisLink

PAGE_ENTRIES = 500
"""Entries of each stream in one page: a few hundred kilobytes, milliseconds for Redis."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The bounds of one of the two histories, in the order of the scripts' arguments."""

    count_max: int
    bytes_max: int
    age_max_us: int

    def empty_history(self) -> History:
        """Return an empty history with these bounds."""
        return History(count_max=self.count_max, bytes_max=self.bytes_max, age_max_us=self.age_max_us)


@dataclass(frozen=True, slots=True)
class Loaded:
    """A complete copy of both histories."""

    epoch: str
    newest: int
    newest_mark: str
    operator: History
    trials: History


@dataclass(frozen=True, slots=True)
class Page:
    """Result of the `read` script: entries of both streams, merged by offset."""

    newest: int
    """Offset of the newest notification of both streams at that moment."""
    newest_mark: str
    operator_lost: int
    """Highest offset that the bounds have dropped from the operator's history."""
    trials_lost: int
    entries: tuple[Entry, ...]
    """By offset. Offsets that are missing in between were dropped."""
    is_last: bool
    """True if there was nothing after them."""


def load(link: RedisLink, bounds: Mapping[str, Bounds]) -> Loaded:
    """Load both histories; an empty Redis gets an epoch first. Raises `BrokerAway`, `StoreError` and `NotKept`."""
    while True:
        epoch = link.ask("join", secrets.token_hex(4))[0].decode()
        operator, trials = bounds["operator"].empty_history(), bounds["trials"].empty_history()
        page = _load_pages(link, epoch, operator, trials)
        if page is None:
            continue  # The epoch changed meanwhile.
        operator.lost_through = max(operator.lost_through, page.operator_lost)
        trials.lost_through = max(trials.lost_through, page.trials_lost)
        return Loaded(epoch, page.newest, page.newest_mark, operator, trials)


def decode_page(answer: list[Any]) -> Page:
    """Decode a page of at most `PAGE_ENTRIES` of each stream. Raises `StoreError`."""
    _verdict, newest, mark, operator_lost, trials_lost, *streams = answer
    through: int | None = None
    lists = []
    for stream in streams:
        entries = [decode_entry(id, fields) for id, fields in stream]
        lists.append(entries)
        if len(entries) == PAGE_ENTRIES:
            # This stream may have more: entries of the other one after that offset belong to the next page.
            through = min(entries[-1].offset, through or entries[-1].offset)
    merged = merge(*lists, key=lambda each: each.offset)
    kept = tuple(each for each in merged if through is None or each.offset <= through)
    return Page(int(newest), mark.decode(), int(operator_lost), int(trials_lost), kept, through is None)


def _load_pages(link: RedisLink, epoch: str, operator: History, trials: History) -> Page | None:
    """Load all pages into the histories; return the last one, or `None` if the epoch changed."""
    read_through = 0
    while True:
        answer = link.ask("read", epoch, read_through, "", PAGE_ENTRIES)
        if answer[0] != b"ok":
            return None
        page = decode_page(answer)
        for entry in page.entries:
            (trials if entry.is_trial else operator).append(entry.notification(epoch))
            read_through = entry.offset
        if page.is_last:
            return page
