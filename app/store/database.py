"""A connection to a run's SQLite file: how it is opened, how it is written, and how its errors become sentences."""

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
"""A reader of a WAL database never makes the writer wait longer than a checkpoint."""

READS_MAX = 3
"""Somebody's deletion writes twice at most."""


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection, path: Path) -> Iterator[None]:
    """All of what is done inside, or nothing. Raises `StoreError` when the file cannot be written."""
    with written(path):
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            # SQLite itself rolls back when the disk is full; then there is nothing left to roll back.
            with contextlib.suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")


@contextlib.contextmanager
def written(path: Path) -> Iterator[None]:
    """What a full disk makes SQLite say, as a `StoreError` that names the file."""
    try:
        yield
    except sqlite3.Error as error:
        raise StoreError(f"{path} cannot be written: {error}.") from error


def quoted(columns: Iterable[str]) -> str:
    """Column names as SQL: quoted, because `offset` is a word of SQL."""
    return ", ".join(f'"{name}"' for name in columns)


def connect(path: Path, *, write: bool) -> sqlite3.Connection:
    """Autocommit; transactions are written out above. A reader where no WAL is looks into none, and takes no lock.

    Otherwise it could not read from a read-only medium; and elsewhere it would leave a WAL, and make the run younger. What
    reads for long does so `undisturbed`.
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
            # A crash of the runner loses nothing that was committed; a power cut may lose the last trials.
            connection.execute("PRAGMA synchronous = NORMAL")
        except BaseException:
            connection.close()
            raise
    return connection


def undisturbed(path: Path, read: Callable[[], T]) -> T:
    """What `read` makes of the file, again where somebody wrote into it meanwhile: it takes no lock where no WAL is.

    Raises `Conflict` when that never ends, and what `read` raises.
    """
    for _ in range(READS_MAX):
        is_locked, before = wal_of(path).exists(), _mark(path)
        try:
            found = read()
        except (sqlite3.Error, StoreError):
            if is_locked or _mark(path) in (before, None):
                raise
            continue
        if is_locked or _mark(path) in (before, None):
            return found
    raise Conflict(refusal("run_being_written"))


def has_writer(path: Path) -> bool:
    """Whether a process has it open, which it shares its lock with. One that was left by a dead writer is tidied up."""
    if not wal_of(path).exists():
        return False  # There is one for as long as a writer is.
    try:
        with contextlib.closing(
            sqlite3.connect(f"{path.resolve().as_uri()}?mode=rw", uri=True, timeout=0, isolation_level=None)
        ) as connection:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
    except sqlite3.Error as error:
        # What is above the last byte says more of why.
        return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
    return False


def wal_of(path: Path) -> Path:
    """Where SQLite writes first while somebody has the file open."""
    return path.with_name(path.name + "-wal")


def _mark(path: Path) -> tuple[int, int] | None:
    """What changes with the content; not its time, which `store/archive/trash.py` sets back. `None`: the run was moved away."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ctime_ns, found.st_size


def remove(path: Path) -> None:
    """Delete the file and what SQLite keeps beside it. Raises `OSError`."""
    for ending in ("-wal", "-shm", ""):
        path.with_name(path.name + ending).unlink(missing_ok=True)


NOT_AS_WRITTEN = (
    *(sqlite3.Error, ValueError, LookupError, TypeError, AttributeError),
    *(OverflowError, RecursionError, Malformed),
)
"""What decoding raises for what no runner wrote."""


@contextlib.contextmanager
def in_words(path: Path, *, name: str | None = None) -> Iterator[None]:
    """What a damaged file makes SQLite or the decoders say, as a `StoreError` that names the file by `name` or path."""
    try:
        yield
    except NOT_AS_WRITTEN as error:
        raise StoreError(refusal("run_database_damaged", path=name or path, reason=error)) from error
