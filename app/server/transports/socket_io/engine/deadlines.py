"""Deadlines that all lie the same time after their start: they fall due in the order of insertion, so a deque suffices.

Nothing is removed early; the caller skips items that no longer matter when they fall due.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class Deadlines(Generic[T]):
    """Items in the order in which they fall due. Any thread may add items; one thread takes them."""

    __slots__ = ("_waiting", "after_us")

    def __init__(self, after_us: int) -> None:
        self.after_us = after_us
        """Time from an item's insertion until it is due."""
        self._waiting: deque[tuple[int, T]] = deque()

    def add(self, item: T, now_us: int) -> int:
        """Add an item that is due `after_us` from now; return when. `now_us` must be nearly monotonic across calls."""
        due_us = now_us + self.after_us
        self._waiting.append((due_us, item))
        return due_us

    def take(self, now_us: int) -> Iterator[tuple[int, T]]:
        """Remove and yield everything that is due by now, with the time at which it fell due."""
        while self._waiting and self._waiting[0][0] <= now_us:
            yield self._waiting.popleft()

    def next_due_us(self, otherwise_us: int) -> int:
        """Return when the first item is due, but at most `otherwise_us`."""
        return min(self._waiting[0][0], otherwise_us) if self._waiting else otherwise_us
