"""Take one phone out of a run's store: the only thing that is ever deleted there, and only because its owner asks.

What was measured is append-only, so the guards step aside for one transaction; what is freed is overwritten.
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
class Forgotten:
    """How many rows there were."""

    batches: int = 0
    samples: int = 0
    deliveries: int = 0

    def __add__(self, other: Forgotten) -> Forgotten:
        return Forgotten(
            self.batches + other.batches, self.samples + other.samples, self.deliveries + other.deliveries
        )


def forget(path: Path, device: str, client: int | None) -> Forgotten:
    """Delete what `device` posted, and where it was `client` of an experiment, what was made of it.

    Raises `StoreError` for a damaged file, or one that cannot be written.
    """
    with database.in_words(path), contextlib.closing(database.connect(path, write=True)) as connection:
        connection.execute("PRAGMA secure_delete = ON")
        if client is None and not _has_posted(connection, device):
            return Forgotten()
        with database.transaction(connection, path), _without_guards(connection):
            found = Forgotten(
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
                    _bare_conditions(connection, table, client)
        # What was deleted is in the log still; a reader may be in the way, and then the next writer does it.
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return found


def bare_participant(conditions: Mapping[str, Any], client: int) -> dict[str, Any]:
    """A run's conditions, in which the participant `client` is a pseudonym and nothing more: no model, no browser."""
    found = [
        {name: each[name] for name in ("client", "pseudonym") if name in each}
        if each.get("client") == client
        else each
        for each in conditions.get("participants", ())
    ]
    return {**conditions, "participants": found}


def spool_position_bytes(path: Path) -> int:
    """How far the spool has been taken into the store at `path`."""
    with database.in_words(path), contextlib.closing(database.connect(path, write=False)) as connection:
        row = connection.execute("SELECT max(position_bytes) FROM spool_read").fetchone()
        return int(row[0] or 0)


def _has_posted(connection: sqlite3.Connection, device: str) -> bool:
    return (
        "client_batch" in _tables(connection)
        and connection.execute("SELECT 1 FROM client_batch WHERE device = ? LIMIT 1", (device,)).fetchone()
        is not None
    )


def _delete(connection: sqlite3.Connection, table: str, where: str, value: str | int) -> int:
    if table not in _tables(connection):  # A store of an earlier version.
        return 0
    return connection.execute(f'DELETE FROM "{table}" WHERE {where}', (value,)).rowcount


def _bare_conditions(connection: sqlite3.Connection, table: str, client: int) -> None:
    for rowid, text in connection.execute(f'SELECT rowid, conditions FROM "{table}"').fetchall():
        conditions = json.loads(text)
        if "participants" in conditions:
            connection.execute(
                f'UPDATE "{table}" SET conditions = ? WHERE rowid = ?',
                (json.dumps(bare_participant(conditions, client)), rowid),
            )


def _tables(connection: sqlite3.Connection) -> set[str]:
    return {row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}


@contextlib.contextmanager
def _without_guards(connection: sqlite3.Connection) -> Iterator[None]:
    """The triggers that hold everyone to append-only, away within the transaction."""
    guards = connection.execute(
        "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND name GLOB '*_no_*'"
    ).fetchall()
    for name, _sql in guards:
        connection.execute(f'DROP TRIGGER "{name}"')
    yield
    for _name, sql in guards:
        connection.execute(sql)
