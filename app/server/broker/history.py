"""A ring of past notifications, bounded by count, bytes and age."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from app.core.notification import Notification
from app.core.units import ServerUs


class History:
    """Newest at the right; what a bound pushes out at the left is remembered by its offset only."""

    def __init__(self, *, count_max: int, bytes_max: int, age_max_us: int) -> None:
        self._count_max = count_max
        self._bytes_max = bytes_max
        self._age_max_us = age_max_us
        self._entries: deque[Notification] = deque()
        self._bytes = 0
        self.lost_through = 0
        """The highest offset that is not kept any more; 0 when all are."""

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def payload_bytes(self) -> int:
        """Encoded size of what is kept."""
        return self._bytes

    @property
    def first_offset(self) -> int | None:
        """The oldest that is kept."""
        return self._entries[0].offset if self._entries else None

    def append(self, notification: Notification) -> None:
        """Keep the newest; drop from the oldest what the bounds no longer allow."""
        entries = self._entries
        entries.append(notification)
        self._bytes += notification.json_bytes
        while len(entries) > self._count_max or self._bytes > self._bytes_max:
            self._drop_oldest()
        # Looked at here, because a call for each publish would cost more than the answer.
        if entries and entries[0].sent_us < notification.sent_us - self._age_max_us:
            self.expire(notification.sent_us)

    def expire(self, now_us: ServerUs) -> None:
        """Drop what is older than the bound on age."""
        while self._entries and self._entries[0].sent_us < now_us - self._age_max_us:
            self._drop_oldest()

    def after(self, offset: int, now_us: ServerUs) -> Iterator[Notification]:
        """What is kept after `offset` and has not outlived its own time to live, oldest first."""
        self.expire(now_us)
        newer = []
        for notification in reversed(self._entries):
            if notification.offset <= offset:
                break
            newer.append(notification)
        for notification in reversed(newer):
            if notification.expires_us is None or notification.expires_us > now_us:
                yield notification

    def _drop_oldest(self) -> None:
        notification = self._entries.popleft()
        self._bytes -= notification.json_bytes
        # Behind a restart what is kept may lie below what is known to be lost.
        self.lost_through = max(self.lost_through, notification.offset)
