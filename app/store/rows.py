"""Conversion between the values of a trial and rows of the store: a writer and a reader for each group of tables.

A `*_values` function returns rows to insert; the `read_*` function next to it returns what was inserted.
"""

from __future__ import annotations

import json
import sqlite3
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, astuple, fields
from itertools import groupby
from operator import itemgetter
from typing import Any

import msgspec

from app.core.columns import NAMES, DeliveryColumns
from app.core.delivery import Delivery, Lifecycle, Outcome, SampleState
from app.core.instrument import ConnectionRecord, InstrumentRecord, TcpInfo, Writes
from app.core.lifecycle import LifecycleReport
from app.core.messages import Argument
from app.core.plan.scenario import Arm, TrialSpec
from app.core.timeline import CpuSecond, Opening, TrialTimeline, Upload
from app.core.trial import CpuUse, Severity, TrialRecord, TrialWarning
from app.store import schema
from app.store.database import quoted

Row = tuple[Any, ...]

CPU_COLUMNS = tuple(each.name for each in fields(CpuUse))

DELIVERY_DEFAULTS = {"lifecycle": Lifecycle.VISIBLE.value}
"""Values of columns that older files lack: in their trials every client was visible."""

LIFECYCLE_COLUMNS = tuple(each.name for each in fields(LifecycleReport))

LIFECYCLE_SINCE = {"wall_ahead_us": schema.WALL_SINCE}
"""Version that added a column of table `conduct`; the other columns are as old as the table."""

FIRST_ARRIVALS = (Outcome.ON_TIME.value, Outcome.LATE.value)
"""Outcomes whose time to paint counts; a page that resumes paints all replayed notifications at once."""

_arm = msgspec.json.Decoder(Arm)
_lags = msgspec.json.Decoder(tuple[int, ...])


class _StoredWarning(msgspec.Struct):
    """A warning as it is stored: with arguments, or before schema 6 with text and advice."""

    code: str
    severity: Severity
    args: dict[str, Argument] = {}
    variant: str = ""
    text: str | None = None
    advice: str = ""

    def value(self) -> TrialWarning:
        old = {} if self.text is None else {"text": self.text, "advice": self.advice}
        return TrialWarning(self.code, self.severity, self.args | old, self.variant)


_warnings = msgspec.json.Decoder(tuple[_StoredWarning, ...])


def trial_values(record: TrialRecord) -> dict[str, Any]:
    """Return the row of table `trial`, by column."""
    spec = record.spec
    return {
        "trial": spec.index,
        "block": spec.block,
        "clients": spec.clients,
        "arm": json.dumps(asdict(spec.arm)),
        "idle": spec.idle,
        "started_us": record.started_us,
        "ended_us": record.ended_us,
        "published": record.published,
        "source_lag_us": json.dumps(record.source_lag_us),
        "client_loop_lag_ms_p99": record.client_loop_lag_ms_p99,
        "client_cpu_s": record.client_cpu_s,
        "disconnects": record.disconnects,
        "disturbances": record.disturbances,
        "completed": record.completed,
        "warnings": json.dumps([asdict(warning) for warning in record.warnings]),
    }


def read_trial(row: sqlite3.Row, deliveries: Sequence[Delivery], cpu: CpuUse | None) -> TrialRecord:
    """Build a record from a row of table `trial`, with its deliveries and CPU use.

    Raises `ValueError` for JSON of a wrong form.
    """
    return TrialRecord(
        spec=TrialSpec(
            index=row["trial"],
            block=row["block"],
            clients=row["clients"],
            arm=_arm.decode(row["arm"]),
            idle=bool(row["idle"]),
        ),
        started_us=row["started_us"],
        ended_us=row["ended_us"],
        published=row["published"],
        source_lag_us=_lags.decode(row["source_lag_us"]),
        deliveries=deliveries,
        cpu=cpu,
        client_loop_lag_ms_p99=row["client_loop_lag_ms_p99"],
        client_cpu_s=row["client_cpu_s"],
        disconnects=row["disconnects"],
        disturbances=row["disturbances"],
        completed=bool(row["completed"]),
        warnings=tuple(each.value() for each in _warnings.decode(row["warnings"])),
    )


def read_cpu(database: sqlite3.Connection, trial: int) -> CpuUse | None:
    """Read the CPU use of a trial from table `cpu`; `None` if it was not measured."""
    row = database.execute(f"SELECT {quoted(CPU_COLUMNS)} FROM cpu WHERE trial = ?", (trial,)).fetchone()
    if row is None:
        return None
    values = dict(zip(CPU_COLUMNS, row, strict=True))
    values["total_is_ns"] = bool(values["total_is_ns"])
    return CpuUse(**values)


def delivery_values(trial: int, deliveries: Sequence[Delivery]) -> Iterator[Row]:
    """Yield the rows of table `delivery`. They are made from columns, without an object per delivery."""
    return ((trial, *row) for row in DeliveryColumns.of(deliveries).rows())


def read_deliveries(database: sqlite3.Connection, trial: int) -> DeliveryColumns:
    """Read a trial's deliveries as columns. Raises `KeyError` or `TypeError` for rows that no runner wrote.

    A trial is written in one transaction, so its rows are contiguous. The index gives their range, and then the table is
    scanned. By the index alone each of a million rows would be looked up separately, and all would be sorted afterwards.
    """
    present = {row["name"] for row in database.execute("PRAGMA table_info(delivery)")}
    columns = ", ".join(f'"{name}"' if name in present else f"'{DELIVERY_DEFAULTS[name]}'" for name in NAMES)
    first, last = database.execute(
        "SELECT min(rowid), max(rowid) FROM delivery WHERE trial = ?", (trial,)
    ).fetchone()
    rows = database.cursor()
    rows.row_factory = None  # Plain tuples.
    rows.execute(
        f"SELECT {columns} FROM delivery WHERE rowid BETWEEN ? AND ? AND +trial = ? ORDER BY rowid",
        (first, last, trial),
    )
    return DeliveryColumns.of_rows(rows)


def read_display_ms(database: sqlite3.Connection, trial: int) -> array[float]:
    """Read the time from receipt to paint, ms, of each measured arrival that a visible page showed.

    The times are on the phones' own clocks and come from their posts (table `client_sample`). Phones mark arrivals of
    the warm-up, which are left out.
    """
    found = database.execute(
        "SELECT (displayed_client_us - received_client_us) / 1000.0 "
        "FROM client_batch JOIN client_sample USING (batch) "
        "WHERE trial = ? AND outcome IN (?, ?) AND visible AND displayed_client_us IS NOT NULL "
        "AND received_client_us IS NOT NULL AND state IS NOT ? ORDER BY batch, client_sample.rowid",
        (trial, *FIRST_ARRIVALS, SampleState.WARMUP.value),
    )
    return array("d", (row[0] for row in found))


def lifecycle_values(trial: int, report: LifecycleReport) -> Row:
    """Return the row of table `conduct`, in the order of its columns."""
    found = {name: getattr(report, name) for name in LIFECYCLE_COLUMNS}
    return (trial, *{**found, "events": json.dumps(report.events)}.values())


def read_lifecycle(
    database: sqlite3.Connection, trial: int
) -> tuple[tuple[int, ...], tuple[LifecycleReport, ...]]:
    """Read the participants of a trial and their reports, by client; both are empty in files without these tables."""
    version = _version(database)
    if version < schema.CONDUCT_SINCE:
        return (), ()
    columns = [name for name in LIFECYCLE_COLUMNS if LIFECYCLE_SINCE.get(name, 0) <= version]
    participants = database.execute("SELECT client FROM participant WHERE trial = ? ORDER BY rowid", (trial,))
    reports = database.execute(
        f"SELECT {quoted(columns)} FROM conduct WHERE trial = ? ORDER BY client", (trial,)
    )
    return (
        tuple(row["client"] for row in participants),
        tuple(_lifecycle_report(dict(row)) for row in reports),
    )


def _lifecycle_report(found: dict[str, Any]) -> LifecycleReport:
    events = tuple((float(at_us), str(kind)) for at_us, kind in json.loads(found["events"]))
    return LifecycleReport(**{**found, "events": events})


def timeline_values(trial: int, timeline: TrialTimeline) -> Iterator[tuple[str, Iterable[Row]]]:
    """Yield the tables of a timeline with their rows; `course` is first, because the others refer to it."""
    yield "course", [(trial, timeline.uploads_known)]
    yield "cpu_second", [(trial, *astuple(each)) for each in timeline.cpu_seconds]
    yield "opening", [(trial, *astuple(each)) for each in timeline.openings]
    yield "upload", [(trial, *astuple(each)) for each in timeline.uploads]


def read_timeline(database: sqlite3.Connection, trial: int) -> TrialTimeline | None:
    """Read a trial's timeline; `None` if it was not recorded, and in files without its tables."""
    if _version(database) < schema.COURSE_SINCE:
        return None
    head = database.execute("SELECT uploads_known FROM course WHERE trial = ?", (trial,)).fetchone()
    if head is None:
        return None

    def rows(table: str) -> list[Row]:
        found = database.execute(f"SELECT * FROM {table} WHERE trial = ? ORDER BY rowid", (trial,))
        return [tuple(row)[1:] for row in found]

    return TrialTimeline(
        cpu_seconds=tuple(CpuSecond(*row) for row in rows("cpu_second")),
        openings=tuple(Opening(*row) for row in rows("opening")),
        uploads=tuple(Upload(*row) for row in rows("upload")),
        uploads_known=bool(head[0]),
    )


def instrument_values(trial: int, record: InstrumentRecord) -> Iterator[tuple[str, Iterable[Row]]]:
    """Yield the four tables of the server's record of a trial with their rows."""
    numbered = list(enumerate(record.connections))
    yield "instrument", [(trial, record.absent, record.dropped)]
    yield "connection", ((trial, number, c.client, c.address, c.port) for number, c in numbered)
    yield (
        "accepted",
        ((trial, number, seq, at_us) for number, c in numbered for seq, at_us in c.accepted),
    )
    yield (
        "tcp_info",
        (
            (trial, number, edge, *astuple(info))
            for number, c in numbered
            for edge, info in (("before", c.before), ("after", c.after))
            if info is not None
        ),
    )


def read_instrument(database: sqlite3.Connection, trial: int) -> InstrumentRecord | None:
    """Read the server's record of a trial; `None` if the instrument was off, and in files without its tables."""
    if _version(database) < schema.INSTRUMENT_SINCE:
        return None
    head = database.execute("SELECT absent, dropped FROM instrument WHERE trial = ?", (trial,)).fetchone()
    if head is None:
        return None
    rows = database.cursor()
    rows.row_factory = None  # Plain tuples: there may be millions.
    rows.execute(
        "SELECT connection, seq, accepted_us FROM accepted WHERE trial = ? ORDER BY connection, seq", (trial,)
    )
    # Writes stay columns: as pairs, a million of them would take eight times the memory.
    accepted = {
        connection: Writes.of(row[1:] for row in group) for connection, group in groupby(rows, itemgetter(0))
    }
    tcp = {
        (row[1], row[2]): TcpInfo(*row[3:])
        for row in database.execute("SELECT * FROM tcp_info WHERE trial = ?", (trial,))
    }
    found = database.execute(
        "SELECT connection, client, address, port FROM connection WHERE trial = ? ORDER BY connection",
        (trial,),
    )
    connections = tuple(
        ConnectionRecord(
            client,
            address,
            port,
            accepted.get(number, ()),
            tcp.get((number, "before")),
            tcp.get((number, "after")),
        )
        for number, client, address, port in found
    )
    return InstrumentRecord(head[0], head[1], connections)


def _version(database: sqlite3.Connection) -> int:
    """Return the schema version of an open file."""
    version: int = database.execute("PRAGMA user_version").fetchone()[0]
    return version
