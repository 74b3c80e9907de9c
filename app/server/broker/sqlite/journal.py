"""The durable part of a history: appends notifications to a file and reads them back at the next start.

An SQLite database in WAL mode, written by one server (lockfile.py). A commit appends to the log beside the file and is
in the kernel's hands when it returns: it outlives the process, however that ends. What a power cut takes is what was
not flushed. `flush` does that on a connection of its own, so that it can run in a thread of its own: it takes as long
as the disk likes, and a passive checkpoint never makes a writer wait.

    append --insert--> FILE-wal --flush (fsync, copy, fsync)--> FILE
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.core.errors import NotKept, StoreError
from app.core.notification import EVERYONE, Notification, Targets
from app.core.position import Position
from app.core.units import ServerUs
from app.core.wire import TRANSPORTS
from app.server.broker.keys import Use
from app.server.broker.sqlite.journal_file import JournalState, connect, damaged, open_file
from app.server.broker.sqlite.lockfile import LockFile

UNFLUSHED_OFFSETS_MAX = 9_000
"""At this many a write flushes first: no power cut takes more than these and one batch, on which `SKIPPED_OFFSETS` stands."""

PAGE_BYTES = 4096

LOG_PAGES_MAX = 4096
"""16 MiB. SQLite begins its log anew only when a flush found all of it on the disk, which one beside unbroken
publishing never does; at this length a write flushes first, and finds little left to do."""


@dataclass(frozen=True, slots=True)
class JournalRow:
    """A notification as it is written, and the use of its key where it has one."""

    notification: Notification
    key: str | None = None
    use: Use | None = None

    def columns(self) -> tuple[int, str, str | None, int | None]:
        """Of the table `notifications`."""
        notification = self.notification
        targets = None if notification.targets is EVERYONE else _targets_as_text(notification.targets)
        return notification.offset, notification.json, targets, notification.expires_us


class Journal:
    """An open history. The caller serialises all calls but `flush`, which may run beside them."""

    def __init__(self, path: Path, *, synchronous: str, wait_s: float) -> None:
        """Open or make the file, waiting for a predecessor that is leaving.

        Raises `Unfit` (in use, not writable) or `StoreError` (damaged, foreign) in words.
        """
        self.path = path
        self._lock = LockFile(path, wait_s=wait_s)
        try:
            self._writer, self.state = open_file(path, synchronous=synchronous)
            self._flusher = connect(path)
        except BaseException:
            self._lock.release()
            raise
        self._unflushed_offsets = 0
        self._log_pages = 0
        """About, and as many as the last flush found."""
        self.notification_count = self._count("notifications")
        self.key_count = self._count("keys")

    def notifications(self) -> Iterator[Notification]:
        """Everything kept, oldest first. Raises `StoreError`."""
        with self._reading():
            for row in self._writer.execute(
                'SELECT "offset", json, targets, expires_us FROM notifications ORDER BY "offset"'
            ):
                yield _notification(self.state.epoch, *row)

    def uses(self) -> Iterator[tuple[str, Use]]:
        """The keys and their uses, oldest first. Raises `StoreError`."""
        nobody = dict.fromkeys(TRANSPORTS, 0)  # None of this process's connections were there.
        with self._reading():
            for offset, key, fingerprint, due_us, sent_us in self._writer.execute(
                'SELECT "offset", key, fingerprint, due_us, sent_us FROM keys ORDER BY "offset"'
            ):
                yield key, Use(fingerprint, offset, due_us, sent_us, nobody)

    def append(self, rows: Sequence[JournalRow], state: JournalState) -> None:
        """Write notifications, the uses of their keys and the state: all or nothing. Raises `NotKept`."""
        uses = [(row.key, row.use) for row in rows if row.use is not None]
        with self._writing(alone=len(rows) == 1 and not uses and state is self.state):
            for row in rows:
                self._writer.execute("INSERT INTO notifications VALUES (?, ?, ?, ?)", row.columns())
            for key, use in uses:
                self._writer.execute(
                    "INSERT INTO keys VALUES (?, ?, ?, ?, ?)",
                    (use.offset, key, use.fingerprint, use.due_us, use.sent_us),
                )
            self._write(state)
        self.state = state
        self._unflushed_offsets += len(rows)
        pages = sum(1 + row.notification.json_bytes // PAGE_BYTES for row in rows)
        self._log_pages += pages + 2 * len(uses)
        self.notification_count += len(rows)
        self.key_count += len(uses)

    def reserve(self, state: JournalState) -> None:
        """Write a state whose `trials_through` lies ahead. Raises `NotKept`."""
        with self._writing(alone=True):
            self._write(state)
        self._unflushed_offsets += state.trials_through - self.state.trials_through
        self.state = state

    def drop_before(self, *, notification: int, use: int, state: JournalState) -> None:
        """Forget what stands below these offsets; its pages are used again. Raises `NotKept`."""
        with self._writing():
            dropped = self._writer.execute('DELETE FROM notifications WHERE "offset" < ?', (notification,))
            forgotten = self._writer.execute('DELETE FROM keys WHERE "offset" < ?', (use,))
            self._write(state)
        self.state = state
        self.notification_count -= dropped.rowcount
        self.key_count -= forgotten.rowcount
        self._log_pages += dropped.rowcount

    def flush(self) -> None:
        """Bring all that was written to the disk, without making a writer wait. Raises `NotKept`."""
        before, self._unflushed_offsets = self._unflushed_offsets, 0
        try:
            busy, log_pages, _ = self._flusher.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        except sqlite3.Error as error:
            self._unflushed_offsets += before
            raise NotKept(f"The history {self.path} cannot be flushed to the disk ({error}).") from error
        if busy:
            self._unflushed_offsets += before
        self._log_pages = log_pages

    def close(self, state: JournalState) -> None:
        """Close in order: from here on nothing can be cut off."""
        # Where even that cannot be written, the next start finds it open, and is careful.
        with contextlib.suppress(sqlite3.Error, NotKept):
            self._writer.execute("PRAGMA synchronous = FULL")
            with self._writing():
                self._write(state)
                self._writer.execute("UPDATE state SET opened = ''")
        for connection in (self._flusher, self._writer):
            with contextlib.suppress(sqlite3.Error):
                connection.close()
        self._lock.release()

    def _write(self, state: JournalState) -> None:
        if state is not self.state:
            self._writer.execute(
                "UPDATE state SET expired_through = ?, trials_through = ?",
                (state.expired_through, state.trials_through),
            )

    def _count(self, table: str) -> int:
        return int(self._writer.execute(f"SELECT count(*) FROM {table}").fetchone()[0])

    @contextlib.contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, ValueError, KeyError, TypeError) as error:
            raise StoreError(damaged(self.path, error)) from error

    @contextlib.contextmanager
    def _writing(self, *, alone: bool = False) -> Iterator[None]:
        """A transaction; `alone`: of one statement, which is one by itself."""
        if self._unflushed_offsets >= UNFLUSHED_OFFSETS_MAX or self._log_pages >= LOG_PAGES_MAX:
            self.flush()
            self._log_pages = 0  # Nobody wrote meanwhile: the log begins anew.
        try:
            if not alone:
                self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield
                if not alone:
                    self._writer.execute("COMMIT")
            except BaseException:
                # SQLite itself rolls back when the disk is full; then there is nothing left to roll back.
                with contextlib.suppress(sqlite3.Error):
                    self._writer.execute("ROLLBACK")
                raise
        except sqlite3.Error as error:
            raise NotKept(f"Not published: the history {self.path} cannot be written ({error}).") from error


def _notification(
    epoch: str, offset: int, text: str, targets: str | None, expires_us: ServerUs | None
) -> Notification:
    wire = json.loads(text)
    return Notification(
        position=Position(epoch, offset),
        topic=wire["topic"],
        due_us=wire["due_us"],
        sent_us=wire["sent_us"],
        title=wire["title"],
        body=wire["body"],
        data=wire["data"],
        targets=EVERYONE if targets is None else _targets_from_text(targets),
        expires_us=expires_us,
    )


def _targets_as_text(targets: Targets) -> str:
    return json.dumps([targets.transport, None if targets.devices is None else sorted(targets.devices)])


def _targets_from_text(text: str) -> Targets:
    transport, devices = json.loads(text)
    return Targets(transport, None if devices is None else frozenset(devices))
