"""The journal's file format, and how the file is opened so that no loss goes unnoticed.

`state` has one row:
    epoch            the name of this history
    expired_through  operator notifications up to this offset may be missing: dropped by the bounds, or lost
    trials_through   no trial has a higher offset; trials themselves are never written
    opened           how the file is open, and the boot id of that time; empty after an orderly close
"""

from __future__ import annotations

import contextlib
import secrets
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import psutil

from app.core.errors import StoreError, Unfit

APPLICATION_ID = 0x53494148
"""`PRAGMA application_id`, "SIAH": distinguishes a history from a run's database and from any other file."""

VERSION = 1
"""`PRAGMA user_version`. A newer one is refused."""

BUSY_TIMEOUT_S = 0.25
"""For a person who uses the sqlite3 tool on the file; our servers never wait for each other."""

SKIPPED_OFFSETS = 20_000
"""Twice as many as are ever assigned between two flushes (journal.py)."""

_SCHEMA = """
CREATE TABLE state (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1), epoch TEXT NOT NULL, expired_through INTEGER NOT NULL,
    trials_through INTEGER NOT NULL, opened TEXT NOT NULL
);
CREATE TABLE notifications (
    "offset" INTEGER PRIMARY KEY, json TEXT NOT NULL, targets TEXT, expires_us INTEGER
);
CREATE TABLE keys (
    "offset" INTEGER PRIMARY KEY, key TEXT NOT NULL, fingerprint TEXT NOT NULL, due_us INTEGER NOT NULL,
    sent_us INTEGER NOT NULL
);
"""


@dataclass(frozen=True, slots=True)
class JournalState:
    """The row of `state` without `opened`."""

    epoch: str
    expired_through: int
    trials_through: int


def connect(path: Path) -> sqlite3.Connection:
    """Open a connection in autocommit mode; usable from any thread, one at a time."""
    connection = sqlite3.connect(path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False)
    with _closed_on_error(connection):
        connection.execute("PRAGMA wal_autocheckpoint = 0")  # or a publish would sometimes wait for the disk
    return connection


def open_file(path: Path, *, synchronous: str) -> tuple[sqlite3.Connection, JournalState]:
    """Open the file; return the writing connection and the state. The caller holds the lock.

    Raises `Unfit` if the file cannot be opened or written, `StoreError` if it is damaged or foreign.
    """
    has_log = path.with_name(path.name + "-wal").exists()
    try:
        connection = connect(path)
        with _closed_on_error(connection):
            _make_if_new(connection)
            _check(connection, path)
            state = _state(connection, has_log=has_log)
            _mark_opened(connection, state, f"{synchronous} {_boot()}")
            connection.execute(f"PRAGMA synchronous = {synchronous}")
        return connection, state
    except sqlite3.OperationalError as error:
        raise Unfit(f"The history {path} cannot be opened: {error}.") from error
    except (sqlite3.Error, TypeError) as error:
        raise StoreError(damaged(path, error)) from error


def damaged(path: Path, what: object) -> str:
    """Return a message for people about a file that SQLite or a decoder cannot read."""
    return (
        f"The history {path} is damaged ({what}). "
        "Move it away to begin a new one, whose clients will be told of the gap."
    )


@contextlib.contextmanager
def _closed_on_error(connection: sqlite3.Connection) -> Iterator[None]:
    try:
        yield
    except BaseException:
        connection.close()
        raise


def _make_if_new(connection: sqlite3.Connection) -> None:
    if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        return
    if connection.execute("PRAGMA journal_mode = WAL").fetchone()[0] != "wal":
        raise sqlite3.OperationalError("its file system lacks the shared memory that SQLite's log needs")
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    state = f"INSERT INTO state VALUES (1, '{secrets.token_hex(4)}', 0, 0, '');"
    connection.executescript(f"BEGIN; {_SCHEMA} {state} PRAGMA user_version = {VERSION}; COMMIT;")


def _check(connection: sqlite3.Connection, path: Path) -> None:
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if application != APPLICATION_ID:
        raise StoreError(f"{path} is not a history of Siar's; name another file with --broker.")
    if version > VERSION:
        raise StoreError(f"The history {path} was written by a newer Siar (format {version}); use that one.")
    found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if found != "ok":
        raise StoreError(damaged(path, found))


def _state(connection: sqlite3.Connection, *, has_log: bool) -> JournalState:
    epoch, expired_through, trials_through, opened = connection.execute(
        "SELECT epoch, expired_through, trials_through, opened FROM state"
    ).fetchone()
    state = JournalState(epoch, expired_through, trials_through)
    if not _may_be_cut_off(opened, has_log=has_log):
        return state
    # Continue above every offset that a client may have seen, and report a gap below it. The epoch stays the same:
    # what is left is valid, and clients that have it need not get it again.
    last = connection.execute('SELECT coalesce(max("offset"), 0) FROM notifications').fetchone()[0]
    through = max(last, expired_through, trials_through) + SKIPPED_OFFSETS
    return replace(state, expired_through=through, trials_through=through)


def _may_be_cut_off(opened: str, *, has_log: bool) -> bool:
    """Return True if the history's end may be lost: the machine went down, or the log was removed."""
    if not opened:
        return False
    synchronous, _, boot = opened.partition(" ")
    return not has_log or (synchronous != "full" and boot != _boot())


def _boot() -> str:
    """Return an identifier of this boot of the machine."""
    with contextlib.suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return str(round(psutil.boot_time()))


def _mark_opened(connection: sqlite3.Connection, state: JournalState, opened: str) -> None:
    """Write the mark to the disk, and into the file itself, before anything else is written."""
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(
        "UPDATE state SET expired_through = ?, trials_through = ?, opened = ?",
        (state.expired_through, state.trials_through, opened),
    )
    free, pages = (connection.execute(f"PRAGMA {name}_count").fetchone()[0] for name in ("freelist", "page"))
    if free > pages // 2:  # The bounds were lowered, or a burst of long notifications has expired.
        connection.execute("VACUUM")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
