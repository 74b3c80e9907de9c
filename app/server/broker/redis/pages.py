"""One answer to "what is there behind this offset?": two streams, merged into the one order."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import merge
from typing import Any

from app.server.broker.redis.entries import Entry, entry_of

PAGE_ENTRIES = 500
"""Of each stream, read at once: a few hundred kilobytes, milliseconds for Redis."""


@dataclass(frozen=True, slots=True)
class Page:
    """What the `read` script answered."""

    newest: int
    """Offset of the newest notification of all, at that moment."""
    newest_mark: str
    operator_lost: int
    """The highest offset that the bounds have pushed out of the operator's history."""
    trials_lost: int
    entries: tuple[Entry, ...]
    """By offset. A hole between them is what was pushed out."""
    is_last: bool
    """Whether nothing was there behind them."""


def page_of(answer: list[Any]) -> Page:
    """The page, `PAGE_ENTRIES` of each stream having been asked for. Raises `StoreError`."""
    _verdict, newest, mark, operator_lost, trials_lost, *streams = answer
    through: int | None = None
    lists = []
    for stream in streams:
        entries = [entry_of(id, fields) for id, fields in stream]
        lists.append(entries)
        if len(entries) == PAGE_ENTRIES:
            # Cut off there: what the other stream has behind it comes with the next page.
            through = min(entries[-1].offset, through or entries[-1].offset)
    merged = merge(*lists, key=lambda each: each.offset)
    kept = tuple(each for each in merged if through is None or each.offset <= through)
    return Page(int(newest), mark.decode(), int(operator_lost), int(trials_lost), kept, through is None)
