"""Deletion of one phone's rows from a run's store, on request of its owner; nothing else is ever deleted there.

The tables are append-only, so the triggers that enforce this are removed for one transaction. Freed pages are
overwritten.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.store import database


@dataclass(frozen=True, slots=True)
class DeletedRows:
    """Numbers of deleted rows."""

    batches: int = 0
    samples: int = 0
    deliveries: int = 0

    def __add__(self, other: DeletedRows) -> DeletedRows:
        return DeletedRows(
            self.batches + other.batches, self.samples + other.samples, self.deliveries + other.deliveries
        )


def delete_device_rows(path: Path, device: str, client: int | None) -> DeletedRows:
    """Delete the posts of `device`, and, if it was `client` of an experiment, the records that were made from them.

    Raises `StoreError` for a damaged file, or one that cannot be written.
    """
    with (
        database.reporting_damage(path),
        contextlib.closing(database.connect(path, write=True)) as connection,
    ):
        connection.execute("PRAGMA secure_delete = ON")
        if client is None and not _has_posted(connection, device):
            return DeletedRows()
        with database.transaction(connection, path), _without_triggers(connection):
            found = DeletedRows(
                samples=_delete(
                    connection,
                    "client_sample",
                    "batch IN (SELECT batch FROM client_batch WHERE device = ?)",
                    device,
                ),
                batches=_delete(connection, "client_batch", "device = ?", device),
                deliveries=0 if client is None else _delete(connection, "delivery", "client = ?", client),
            )
            _delete(connection, "clock_probe", "client = ?", device)
            if client is not None:
                for table in ("conduct", "participant", "opening", "upload"):
                    _delete(connection, table, "client = ?", client)
                for table in ("run", "ending"):
                    _strip_conditions(connection, table, client)
        # The WAL still contains deleted rows. If a reader prevents this checkpoint, the next writer makes it.
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return found


def strip_participant(conditions: Mapping[str, Any], client: int) -> dict[str, Any]:
    """Return a run's conditions with only the pseudonym of participant `client`, without model and browser."""
    found = [
        {name: each[name] for name in ("client", "pseudonym") if name in each}
        if each.get("client") == client
        else each
        for each in conditions.get("participants", ())
    ]
    return {**conditions, "participants": found}


def spool_position_bytes(path: Path) -> int:
    """Return how far the spool has been read into the store at `path`."""
    with (
        database.reporting_damage(path),
        contextlib.closing(database.connect(path, write=False)) as connection,
    ):
        row = connection.execute("SELECT max(position_bytes) FROM spool_read").fetchone()
        return int(row[0] or 0)


def _has_posted(connection: sqlite3.Connection, device: str) -> bool:
    return (
        "client_batch" in _tables(connection)
        and connection.execute("SELECT 1 FROM client_batch WHERE device = ? LIMIT 1", (device,)).fetchone()
        is not None
    )


def _delete(connection: sqlite3.Connection, table: str, where: str, value: str | int) -> int:
    if table not in _tables(connection):  # The store has an earlier version.
        return 0
    return connection.execute(f'DELETE FROM "{table}" WHERE {where}', (value,)).rowcount


def _strip_conditions(connection: sqlite3.Connection, table: str, client: int) -> None:
    for rowid, text in connection.execute(f'SELECT rowid, conditions FROM "{table}"').fetchall():
        conditions = json.loads(text)
        if "participants" in conditions:
            connection.execute(
                f'UPDATE "{table}" SET conditions = ? WHERE rowid = ?',
                (json.dumps(strip_participant(conditions, client)), rowid),
            )


def _tables(connection: sqlite3.Connection) -> set[str]:
    return {row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}


@contextlib.contextmanager
def _without_triggers(connection: sqlite3.Connection) -> Iterator[None]:
    """Remove the triggers that enforce append-only tables while the block runs, within the open transaction."""
    triggers = connection.execute(
        "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND name GLOB '*_no_*'"
    ).fetchall()
    for name, _sql in triggers:
        connection.execute(f'DROP TRIGGER "{name}"')
    yield
    for _name, sql in triggers:
        connection.execute(sql)
