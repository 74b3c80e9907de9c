"""A history of past notifications, bounded by count, bytes and age."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from app.core.notification import Notification
from app.core.units import ServerUs


class History:
    """Notifications in order, newest last. Of the dropped ones only the highest offset is kept."""

    def __init__(self, *, count_max: int, bytes_max: int, age_max_us: int) -> None:
        self._count_max = count_max
        self._bytes_max = bytes_max
        self._age_max_us = age_max_us
        self._entries: deque[Notification] = deque()
        self._bytes = 0
        self.lost_through = 0
        """Highest offset that was dropped; 0 if none was."""

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def payload_bytes(self) -> int:
        """Encoded size of the stored notifications."""
        return self._bytes

    @property
    def first_offset(self) -> int | None:
        """Offset of the oldest stored notification."""
        return self._entries[0].offset if self._entries else None

    def append(self, notification: Notification) -> None:
        """Add the newest notification, and drop the oldest ones that exceed the bounds."""
        entries = self._entries
        entries.append(notification)
        self._bytes += notification.json_bytes
        while len(entries) > self._count_max or self._bytes > self._bytes_max:
            self._drop_oldest()
        # Inline check: calling `expire` on each publish would cost more than this comparison.
        if entries and entries[0].sent_us < notification.sent_us - self._age_max_us:
            self.expire(notification.sent_us)

    def expire(self, now_us: ServerUs) -> None:
        """Drop notifications that exceed the maximum age."""
        while self._entries and self._entries[0].sent_us < now_us - self._age_max_us:
            self._drop_oldest()

    def after(self, offset: int, now_us: ServerUs) -> Iterator[Notification]:
        """Yield the stored notifications after `offset` whose time to live has not passed, oldest first."""
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
        # After a restart stored offsets may be lower than `lost_through`.
        self.lost_through = max(self.lost_through, notification.offset)
