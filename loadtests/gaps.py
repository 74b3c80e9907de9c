"""Detection of gaps and duplicates in one user's notifications.

Within an epoch, offsets rise by one for each notification over all topics. A server that has lost its history, as one
in memory does with each restart, begins a new epoch, whose offsets are unrelated to the old ones.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.core.position import Position, parse_position


@dataclass(slots=True)
class GapDetector:
    """Last position of one user."""

    _last: Position | None = None

    def missing(self, text: str) -> int | None:
        """Return how many notifications are missing before this position; `None` for a duplicate.

        The first notification of an epoch never has missing ones before it. Raises `MalformedPosition`.
        """
        last, position = self._last, parse_position(text)
        if last is None or last.epoch != position.epoch:
            self._last = position
            return 0
        if position.offset <= last.offset:
            return None
        self._last = position
        return position.offset - last.offset - 1
