"""Connection to a run's SQLite file: opening, transactions, consistent reading, and errors as readable sentences."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from app.core.errors import Conflict, Malformed, StoreError
from app.i18n import refusal

T = TypeVar("T")

BUSY_TIMEOUT_S = 10.0
"""Time limit for a lock; a reader of a WAL database blocks the writer no longer than a checkpoint takes."""

READS_MAX = 3
"""Attempts to read a file undisturbed; a deletion writes at most twice."""


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection, path: Path) -> Iterator[None]:
    """Run the block in a transaction, which any error rolls back. Raises `StoreError` if the file cannot be written."""
    with reporting_write_errors(path):
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            # When the disk is full SQLite rolls back itself, and this statement fails.
            with contextlib.suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")


@contextlib.contextmanager
def reporting_write_errors(path: Path) -> Iterator[None]:
    """Convert SQLite's errors in the block, such as a full disk, to a `StoreError` that names the file."""
    try:
        yield
    except sqlite3.Error as error:
        raise StoreError(f"{path} cannot be written: {error}.") from error


def quoted(columns: Iterable[str]) -> str:
    """Return column names as SQL, quoted, because `offset` is a keyword."""
    return ", ".join(f'"{name}"' for name in columns)


def connect(path: Path, *, write: bool) -> sqlite3.Connection:
    """Open the file in autocommit mode. A reader of a file without WAL opens it as immutable and takes no lock.

    Otherwise it could not read from a read-only medium, and elsewhere it would create a WAL, which changes the age of
    the run. A long read of an immutable file must use `read_consistently`.
    """
    mode = "rwc" if write else "ro"
    if not write and not wal_of(path).exists():
        mode = "ro&immutable=1"
    connection = sqlite3.connect(
        f"{path.resolve().as_uri()}?mode={mode}", uri=True, timeout=BUSY_TIMEOUT_S, isolation_level=None
    )
    connection.row_factory = sqlite3.Row
    if write:
        try:
            # A crash of the runner loses no committed data; a power failure may lose the last trials.
            connection.execute("PRAGMA synchronous = NORMAL")
        except BaseException:
            connection.close()
            raise
    return connection


def read_consistently(path: Path, read: Callable[[], T]) -> T:
    """Call `read`, and repeat it if another process wrote to the file meanwhile; without a WAL a reader takes no lock.

    Raises `Conflict` after `READS_MAX` disturbed attempts, and any error of an undisturbed `read`.
    """
    for _ in range(READS_MAX):
        is_locked, before = wal_of(path).exists(), _fingerprint(path)
        try:
            found = read()
        except (sqlite3.Error, StoreError):
            if is_locked or _fingerprint(path) in (before, None):
                raise
            continue
        if is_locked or _fingerprint(path) in (before, None):
            return found
    raise Conflict(refusal("run_being_written"))


def has_writer(path: Path) -> bool:
    """Return True if another process has the file open for writing. The WAL of a dead writer is cleaned up."""
    if not wal_of(path).exists():
        return False  # A writer keeps a WAL for as long as it has the file open.
    try:
        with contextlib.closing(
            sqlite3.connect(f"{path.resolve().as_uri()}?mode=rw", uri=True, timeout=0, isolation_level=None)
        ) as connection:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
    except sqlite3.Error as error:
        # The lowest byte is the primary error code; the rest details it.
        return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
    return False


def wal_of(path: Path) -> Path:
    """Return the path of the file's write-ahead log."""
    return path.with_name(path.name + "-wal")


def _fingerprint(path: Path) -> tuple[int, int] | None:
    """Return a value that changes with the content; `None` if the run was moved away.

    The modification time is not used, because `store/archive/trash.py` sets it back.
    """
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ctime_ns, found.st_size


def remove(path: Path) -> None:
    """Delete the database with its WAL and shared-memory file. Raises `OSError`."""
    for ending in ("-wal", "-shm", ""):
        path.with_name(path.name + ending).unlink(missing_ok=True)


NOT_AS_WRITTEN = (
    *(sqlite3.Error, ValueError, LookupError, TypeError, AttributeError),
    *(OverflowError, RecursionError, Malformed),
)
"""Exceptions that decoding raises for content that no runner wrote."""


@contextlib.contextmanager
def reporting_damage(path: Path, *, name: str | None = None) -> Iterator[None]:
    """Convert errors of SQLite and decoders in the block to a `StoreError` that names the file by `name` or path."""
    try:
        yield
    except NOT_AS_WRITTEN as error:
        raise StoreError(refusal("run_database_damaged", path=name or path, reason=error)) from error
