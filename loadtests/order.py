"""Whether notifications come to a user one after the other: how many are missing, and what came again.

Offsets rise by one for each notification over all topics, within an epoch. A server that has lost its history, as one in
memory has with each restart, begins a new epoch: no offset of it says anything about one of the old.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.core.position import Position, parse_position


@dataclass(slots=True)
class Order:
    """How far a user has come."""

    _last: Position | None = None

    def missing(self, text: str) -> int | None:
        """How many are missing right before the notification at this position; `None`: it came again.

        The first of an epoch has nothing before it that could be missing. Raises `MalformedPosition`.
        """
        last, position = self._last, parse_position(text)
        if last is None or last.epoch != position.epoch:
            self._last = position
            return 0
        if position.offset <= last.offset:
            return None
        self._last = position
        return position.offset - last.offset - 1
