"""Between the deliveries of a trial and their table: columns on one side, rows on the other, and no object in between."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

from app.core.columns import NAMES, DeliveryColumns
from app.core.delivery import Delivery, Lifecycle

DEFAULTS = {"lifecycle": Lifecycle.VISIBLE.value}
"""What a column that came to the table later would have said before: whoever measured then was visible."""


def values(trial: int, deliveries: Sequence[Delivery]) -> Iterator[tuple[Any, ...]]:
    """The rows of table `delivery`."""
    return ((trial, *row) for row in DeliveryColumns.of(deliveries).rows())


def read(database: sqlite3.Connection, trial: int) -> DeliveryColumns:
    """What `values` wrote. Raises `KeyError` or `TypeError` for rows that nobody here wrote.

    A trial is written at once, so its rows lie together: the index says where, and then the table is read from end to
    end. By the index alone each of a million rows would be looked up by itself, and all of them sorted afterwards.
    """
    there = {row["name"] for row in database.execute("PRAGMA table_info(delivery)")}
    columns = ", ".join(f'"{name}"' if name in there else f"'{DEFAULTS[name]}'" for name in NAMES)
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
