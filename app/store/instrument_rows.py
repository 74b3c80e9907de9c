"""Between what the server recorded of a trial and its four tables."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import astuple
from itertools import groupby
from operator import itemgetter
from typing import Any

from app.core.instrument import ConnectionRecord, InstrumentRecord, TcpInfo, Writes
from app.store import schema

Row = tuple[Any, ...]


def values(trial: int, record: InstrumentRecord) -> Iterator[tuple[str, Iterable[Row]]]:
    """Each table with its rows for this trial."""
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


def read(database: sqlite3.Connection, trial: int) -> InstrumentRecord | None:
    """What `values` wrote; `None` where it was not switched on, and in files from before there was one."""
    if database.execute("PRAGMA user_version").fetchone()[0] < schema.INSTRUMENT_SINCE:
        return None
    head = database.execute("SELECT absent, dropped FROM instrument WHERE trial = ?", (trial,)).fetchone()
    if head is None:
        return None
    rows = database.cursor()
    rows.row_factory = None  # Plain tuples: there may be millions.
    rows.execute(
        "SELECT connection, seq, accepted_us FROM accepted WHERE trial = ? ORDER BY connection, seq", (trial,)
    )
    accepted = {
        connection: Writes.of(row[1:] for row in own) for connection, own in groupby(rows, itemgetter(0))
    }
    tcp = {
        (row[1], row[2]): TcpInfo(*row[3:])
        for row in database.execute("SELECT * FROM tcp_info WHERE trial = ?", (trial,))
    }
    found = database.execute(
        "SELECT connection, client, address, port FROM connection WHERE trial = ? ORDER BY connection",
        (trial,),
    )
    # Writes stay columns: as pairs, a million of them would take eight times the memory.
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
