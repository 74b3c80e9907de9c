"""What falls due after the same time for everyone: the first to come is the first due, so a deque suffices.

Nothing is taken out early. Who no longer cares when its time comes is passed over by whoever asks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class Deadlines(Generic[T]):
    """Items in the order in which they fall due. May be added to from any thread and asked from one."""

    __slots__ = ("_waiting", "after_us")

    def __init__(self, after_us: int) -> None:
        self.after_us = after_us
        """How long after it was added an item is due."""
        self._waiting: deque[tuple[int, T]] = deque()

    def add(self, item: T, now_us: int) -> int:
        """`item` is due `after_us` from now; when that is. `now_us` must not run backwards by much."""
        due_us = now_us + self.after_us
        self._waiting.append((due_us, item))
        return due_us

    def take(self, now_us: int) -> Iterator[tuple[int, T]]:
        """Everything that is due by now, with the time when it was, and gone from here."""
        while self._waiting and self._waiting[0][0] <= now_us:
            yield self._waiting.popleft()

    def next_due_us(self, otherwise_us: int) -> int:
        """When the first one is due; `otherwise_us` if none is, or only later."""
        return min(self._waiting[0][0], otherwise_us) if self._waiting else otherwise_us
