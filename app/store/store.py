"""Store of a run: a folder with an append-only database that one process writes and any number read at any time.

A finished trial is written in one transaction, so that a runner that dies loses only the trial in progress. A run is
complete only after `finish`. WAL mode permits reading during writing.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any, Self

from app.core.clocksync.sync import Probe
from app.core.errors import Conflict, StoreError
from app.core.plan.scenario import plan_from_json, plan_sha256, plan_to_json
from app.core.trial import RunRecord, TrialRecord
from app.i18n import refusal
from app.store import database, integrity, rows, schema
from app.store.records import (
    BATCH_COLUMNS,
    SAMPLE_COLUMNS,
    ClientBatch,
    Published,
    RunHead,
    StampedProbe,
)

__all__ = ["FILE_NAME", "SAMPLE_COLUMNS", "ClientBatch", "Published", "RunHead", "StampedProbe", "Store"]

FILE_NAME = "run.sqlite"


@dataclass(slots=True)
class Store:
    """Open database of a run. One process writes; any number read."""

    folder: Path
    _database: sqlite3.Connection = field(repr=False)

    @classmethod
    def create(cls, folder: Path, head: RunHead, *, folder_exists: bool = False) -> Self:
        """Create a run. Raises `Conflict` if the folder exists already, `StoreError` if it cannot be made.

        `folder_exists`: the folder was already made for this run, and only a database in it is a conflict.
        """
        path = folder / FILE_NAME
        with contextlib.ExitStack() as on_failure:
            is_new = not folder.exists()
            try:
                folder.mkdir(parents=True, exist_ok=folder_exists)
                if is_new:
                    on_failure.callback(_remove_folder, folder)
                path.touch(exist_ok=False)
            except FileExistsError:
                raise Conflict(f"The run folder {folder} exists already.") from None
            except OSError as error:
                raise StoreError(f"The run folder {folder} cannot be made: {error.strerror}.") from error
            # On failure everything is removed; half a store would later be taken for a damaged run.
            on_failure.callback(database.remove, path)
            with database.reporting_write_errors(path):
                connection = database.connect(path, write=True)
                on_failure.callback(connection.close)
                connection.execute("PRAGMA journal_mode = WAL")
            store = cls(folder, connection)
            store._begin(head)
            on_failure.pop_all()
        return store

    @classmethod
    def open(cls, folder: Path, *, write: bool = False) -> Self:
        """Open the run in `folder`. Raises `StoreError` if it is damaged, foreign, or of a newer version.

        With `write` an older file is upgraded to the present version.
        """
        path = folder / FILE_NAME
        if not path.is_file():
            raise StoreError(refusal("run_database_missing", folder=folder, file=FILE_NAME))
        with contextlib.ExitStack() as on_failure:
            with database.reporting_damage(path):
                connection = database.connect(path, write=write)
                # A refused file is closed at once, not at the next garbage collection.
                on_failure.callback(connection.close)
                application, version = (
                    connection.execute(f"PRAGMA {name}").fetchone()[0]
                    for name in ("application_id", "user_version")
                )
            if application != schema.APPLICATION_ID:
                raise StoreError(f"{path} is not a database of Siar.")
            if not 1 <= version <= schema.VERSION:
                raise StoreError(
                    f"{path} has version {version}, and this Siar reads up to {schema.VERSION}: use a newer one."
                )
            store = cls(folder, connection)
            if write and version < schema.VERSION:
                with store._transaction():
                    for statement in schema.upgrade(version):
                        connection.execute(statement)
            on_failure.pop_all()
        return store

    def add_trial(self, record: TrialRecord, *, published: Sequence[Published] = ()) -> None:
        """Append a finished trial in one transaction."""
        trial = record.spec.index
        values = rows.trial_values(record)
        with self._transaction():
            self._insert("trial", [tuple(values.values())], tuple(values))
            self._insert("published", [(trial, *astuple(each)) for each in published])
            self._insert("delivery", rows.delivery_values(trial, record.deliveries))
            if record.cpu is not None:
                self._insert("cpu", [(trial, *astuple(record.cpu))])
            if record.instrument is not None:
                for table, found in rows.instrument_values(trial, record.instrument):
                    self._insert(table, found)
            if record.timeline is not None:
                for table, found in rows.timeline_values(trial, record.timeline):
                    self._insert(table, found)
            self._insert("participant", [(trial, client) for client in record.participants])
            self._insert("conduct", (rows.lifecycle_values(trial, each) for each in record.lifecycle_reports))

    def add_probes(self, probes: Iterable[StampedProbe]) -> None:
        """Append clock probes in the order in which they were taken."""
        with self._transaction():
            self._insert("clock_probe", map(_probe_values, probes))

    def add_batches(self, batches: Iterable[ClientBatch], *, spool_position_bytes: int | None = None) -> int:
        """Append posted batches of arrivals and return how many were new; a repeated batch is ignored.

        `spool_position_bytes`: how far the spool was read, recorded in the same transaction.
        """
        count = 0
        with self._transaction():
            for batch in batches:
                count += self._add_batch(batch)
            if spool_position_bytes is not None:
                self._insert("spool_read", [(spool_position_bytes,)])
        return count

    def spool_position_bytes(self) -> int:
        """Return how far the run's spool has been read into the store."""
        row = self._database.execute("SELECT max(position_bytes) FROM spool_read").fetchone()
        return row[0] or 0

    def finish(self, *, ended: str, conditions: Mapping[str, object] | None = None) -> None:
        """Mark the run as complete: all trials of its plan were run."""
        self._end("finished", ended, conditions)

    def stop(self, *, ended: str, conditions: Mapping[str, object] | None = None) -> None:
        """Record that the run ended before its plan was done, on request or after an error. It stays incomplete."""
        self._end("stopped", ended, conditions)

    def load(self) -> RunRecord:
        """Load everything that the analysis needs. Raises `StoreError` if the database is damaged."""
        with database.reporting_damage(self.folder / FILE_NAME):
            integrity.check(self._database)
            head = self._database.execute("SELECT * FROM run").fetchone()
            if head is None:
                raise StoreError(refusal("run_without_word", folder=self.folder))
            endings = self._database.execute("SELECT kind, conditions FROM ending").fetchall()
            conditions = json.loads(head["conditions"])
            for ending in endings:
                conditions |= json.loads(ending["conditions"])
            return RunRecord(
                id=head["id"],
                started=head["started"],
                complete=any(ending["kind"] == "finished" for ending in endings),
                plan=plan_from_json(json.loads(head["plan"])),
                conditions=conditions,
                trials=tuple(self._trials()),
                simulated=bool(head["simulated"]),
            )

    def published(self, trial: int) -> list[Published]:
        """Load a trial's notifications as its source recorded them, in order."""
        found = self._database.execute(
            'SELECT seq, "offset", due_us, sent_us FROM published WHERE trial = ? ORDER BY seq', (trial,)
        )
        return [Published(*row) for row in found]

    def probes(self) -> list[StampedProbe]:
        """Load all clock probes, in the order in which they were added."""
        found = self._database.execute("SELECT * FROM clock_probe ORDER BY rowid")
        return [StampedProbe(row[0], row[1], Probe(*row[2:])) for row in found]

    def samples(self) -> list[dict[str, Any]]:
        """Load all posted arrivals, each with the columns of its batch."""
        return list(self.each_sample())

    def each_sample(self) -> Iterator[dict[str, Any]]:
        """Iterate over posted arrivals as in `samples`; those of a large run would fill the memory."""
        found = self._database.execute(
            "SELECT * FROM client_sample JOIN client_batch USING (batch) ORDER BY batch, client_sample.rowid"
        )
        return map(dict, found)

    def batches(self, trial: int) -> list[dict[str, Any]]:
        """Load a trial's posted batches in the order in which they arrived; `conduct` is still JSON."""
        found = self._database.execute("SELECT * FROM client_batch WHERE trial = ? ORDER BY batch", (trial,))
        return [dict(row) for row in found]

    def samples_of(self, run: str, trial: int, device: str, columns: Sequence[str]) -> list[tuple[Any, ...]]:
        """Load the given columns of one device's posted arrivals in one trial, in the order in which they arrived."""
        cursor = self._database.cursor()
        # Plain tuples, because a lookup by column name takes as long as reading the column.
        cursor.row_factory = None
        return cursor.execute(
            f"SELECT {database.quoted(columns)} FROM client_batch JOIN client_sample USING (batch) "
            "WHERE device = ? AND run = ? AND trial = ? ORDER BY batch, client_sample.rowid",
            (device, run, trial),
        ).fetchall()

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def _begin(self, head: RunHead) -> None:
        with self._transaction():
            for statement in schema.statements():
                self._database.execute(statement)
            values = (head.id, head.started, json.dumps(plan_to_json(head.plan)), plan_sha256(head.plan))
            self._insert("run", [(*values, json.dumps(head.conditions), head.simulated)])

    def _trials(self) -> Iterator[TrialRecord]:
        for row in self._database.execute("SELECT * FROM trial ORDER BY trial").fetchall():
            trial = row["trial"]
            deliveries = rows.read_deliveries(self._database, trial)
            record = rows.read_trial(row, deliveries, rows.read_cpu(self._database, trial))
            participants, lifecycle_reports = rows.read_lifecycle(self._database, trial)
            yield replace(
                record,
                instrument=rows.read_instrument(self._database, trial),
                participants=participants,
                lifecycle_reports=lifecycle_reports,
                timeline=rows.read_timeline(self._database, trial),
                display_ms=rows.read_display_ms(self._database, trial),
            )

    def _add_batch(self, batch: ClientBatch) -> int:
        marks = ", ".join("?" * len(BATCH_COLUMNS))
        cursor = self._database.execute(
            f"INSERT OR IGNORE INTO client_batch ({database.quoted(BATCH_COLUMNS)}) VALUES ({marks})",
            tuple(getattr(batch, name) for name in BATCH_COLUMNS),
        )
        if cursor.rowcount:
            number = cursor.lastrowid
            self._insert(
                "client_sample",
                ((number, *map(sample.get, SAMPLE_COLUMNS)) for sample in batch.samples),
            )
            self._insert("clock_probe", map(_probe_values, batch.probes))
        return cursor.rowcount

    def _end(self, kind: str, ended: str, conditions: Mapping[str, object] | None) -> None:
        with self._transaction():
            self._insert("ending", [(kind, ended, json.dumps(dict(conditions or {})))])

    def _insert(self, table: str, values: Iterable[tuple[Any, ...]], columns: tuple[str, ...] = ()) -> None:
        iterator = iter(values)
        first = next(iterator, None)
        if first is not None:
            names = f"({database.quoted(columns)})" if columns else ""
            marks = ", ".join("?" * len(first))
            self._database.executemany(
                f"INSERT INTO {table} {names} VALUES ({marks})", chain((first,), iterator)
            )

    def _transaction(self) -> contextlib.AbstractContextManager[None]:
        return database.transaction(self._database, self.folder / FILE_NAME)


def _remove_folder(folder: Path) -> None:
    """Remove the folder unless another process has put something into it meanwhile."""
    with contextlib.suppress(OSError):
        folder.rmdir()


def _probe_values(stamped: StampedProbe) -> tuple[Any, ...]:
    return (stamped.client, stamped.timebase, *astuple(stamped.probe))
