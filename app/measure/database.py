"""A connection to a run's SQLite file: how it is opened, how it is written, and how its errors become sentences."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path

from app.catalogues import refusal
from app.core.errors import Malformed, StoreError

BUSY_TIMEOUT_S = 10.0
"""A reader of a WAL database never makes the writer wait longer than a checkpoint."""


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
    """Autocommit; transactions are written out above. A reader on a read-only medium has no WAL to look into."""
    mode = "rwc" if write else "ro"
    if not write and not path.with_name(path.name + "-wal").exists():
        mode = "ro&immutable=1"
    connection = sqlite3.connect(
        f"{path.resolve().as_uri()}?mode={mode}", uri=True, timeout=BUSY_TIMEOUT_S, isolation_level=None
    )
    connection.row_factory = sqlite3.Row
    if write:
        # A crash of the runner loses nothing that was committed; a power cut may lose the last trials.
        connection.execute("PRAGMA synchronous = NORMAL")
    return connection


def remove(path: Path) -> None:
    """Delete the file and what SQLite keeps beside it. Raises `OSError`."""
    for ending in ("-wal", "-shm", ""):
        path.with_name(path.name + ending).unlink(missing_ok=True)


@contextlib.contextmanager
def in_words(path: Path, *, name: str | None = None) -> Iterator[None]:
    """What a damaged file makes SQLite or the decoders say, as a `StoreError` that names the file by `name` or path."""
    try:
        yield
    except (sqlite3.Error, ValueError, KeyError, TypeError, Malformed) as error:
        raise StoreError(refusal("run_database_damaged", path=name or path, reason=error)) from error
