"""The journal is the durable part of a history: notifications appended to a file, read back at the next start.

It is an SQLite database in WAL mode, written by one server (lockfile.py). A commit appends to the log next to the
file and is in the kernel's page cache when it returns, so it outlives the process, however that ends. A power cut
takes what was not flushed. `flush` uses a connection of its own and may run in its own thread for as long as the disk
needs: a passive checkpoint never blocks a writer.

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
"""A write flushes first at this many offsets: no power cut takes more than these and one batch, and `SKIPPED_OFFSETS`
relies on that."""

PAGE_BYTES = 4096

LOG_PAGES_MAX = 4096
"""16 MiB. SQLite restarts its log only when a flush found all of it on the disk, which never happens during
uninterrupted publishing. At this length a write flushes first, when little is left to flush."""


@dataclass(frozen=True, slots=True)
class JournalRow:
    """A notification to be written, with its idempotency key and the key's use if it has one."""

    notification: Notification
    key: str | None = None
    use: Use | None = None

    def columns(self) -> tuple[int, str, str | None, int | None]:
        """Return the values of one row of the table `notifications`."""
        notification = self.notification
        targets = None if notification.targets is EVERYONE else _targets_as_text(notification.targets)
        return notification.offset, notification.json, targets, notification.expires_us


class Journal:
    """An open history. The caller serialises all calls but `flush`, which may run concurrently."""

    def __init__(self, path: Path, *, synchronous: str, wait_s: float) -> None:
        """Open or create the file, waiting for a predecessor that is about to end.

        Raises `Unfit` (in use, not writable) or `StoreError` (damaged, foreign), with a message for people.
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
        """Estimated length of the log; the last flush set it exactly."""
        self.notification_count = self._count("notifications")
        self.key_count = self._count("keys")

    def notifications(self) -> Iterator[Notification]:
        """Yield the stored notifications, oldest first. Raises `StoreError`."""
        with self._reading():
            for row in self._writer.execute(
                'SELECT "offset", json, targets, expires_us FROM notifications ORDER BY "offset"'
            ):
                yield _notification(self.state.epoch, *row)

    def uses(self) -> Iterator[tuple[str, Use]]:
        """Yield the idempotency keys and their uses, oldest first. Raises `StoreError`."""
        nobody = dict.fromkeys(TRANSPORTS, 0)  # The connections of that process are gone.
        with self._reading():
            for offset, key, fingerprint, due_us, sent_us in self._writer.execute(
                'SELECT "offset", key, fingerprint, due_us, sent_us FROM keys ORDER BY "offset"'
            ):
                yield key, Use(fingerprint, offset, due_us, sent_us, nobody)

    def append(self, rows: Sequence[JournalRow], state: JournalState) -> None:
        """Write notifications, the uses of their keys and the state in one transaction. Raises `NotKept`."""
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
        """Write a state whose `trials_through` is ahead of the last trial. Raises `NotKept`."""
        with self._writing(alone=True):
            self._write(state)
        self._unflushed_offsets += state.trials_through - self.state.trials_through
        self.state = state

    def drop_before(self, *, notification: int, use: int, state: JournalState) -> None:
        """Delete rows below these offsets; SQLite reuses their pages. Raises `NotKept`."""
        with self._writing():
            dropped = self._writer.execute('DELETE FROM notifications WHERE "offset" < ?', (notification,))
            forgotten = self._writer.execute('DELETE FROM keys WHERE "offset" < ?', (use,))
            self._write(state)
        self.state = state
        self.notification_count -= dropped.rowcount
        self.key_count -= forgotten.rowcount
        self._log_pages += dropped.rowcount

    def flush(self) -> None:
        """Flush everything written to the disk without blocking a writer. Raises `NotKept`."""
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
        """Close the journal in order, so that the next start knows that its end is complete."""
        # If even that cannot be written, the next start finds the file marked as open and skips offsets.
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
        """Run the block as a transaction; `alone`: its single statement is a transaction by itself."""
        if self._unflushed_offsets >= UNFLUSHED_OFFSETS_MAX or self._log_pages >= LOG_PAGES_MAX:
            self.flush()
            self._log_pages = 0  # No writer was active during the flush, so the log restarts.
        try:
            if not alone:
                self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield
                if not alone:
                    self._writer.execute("COMMIT")
            except BaseException:
                # SQLite rolls back by itself when the disk is full; then this `ROLLBACK` fails.
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
