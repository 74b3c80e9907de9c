"""Whether the values of a run's tables can be what a runner wrote: SQLite itself lets anything in.

Without it a disk's or a stranger's wrong value comes out as a `TypeError` from the middle of the analysis, and the
two-billionth client as a machine without memory.
"""

from __future__ import annotations

import sqlite3

from app.core.plan.scenario import CLIENTS_MAX
from app.store.database import quoted

OF_THEIR_OWN = {"delivery": ("client",), "accepted": ()}
"""Tables of millions of rows, whose readers (delivery_rows.py, instrument_rows.py) take them into arrays of one type; and
which of their columns are looked at all the same."""

KINDS = {"INTEGER": ("integer",), "REAL": ("real", "integer"), "TEXT": ("text",)}

RANGES = {
    "client": (0, CLIENTS_MAX - 1),
    "clients": (0, CLIENTS_MAX),
    "cores": (1, 100_000),
    "wall_s": (1e-9, 1e9),
}
"""By the column's name: things are counted up to these numbers, or divided by them."""

REAL_MAX = 1e300
"""Beyond it a number is infinite, or is so after the first sum."""


def check(database: sqlite3.Connection) -> None:
    """Raises `ValueError` that names the first table and column with a value of another type or out of its range."""
    names = database.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").fetchall()
    for (table,) in names:
        columns = {
            row["name"]: _wrong(row)
            for row in database.execute(f"PRAGMA table_info({quoted([table])})")
            if row["name"] in OF_THEIR_OWN.get(table, (row["name"],))
        }
        if table.startswith("sqlite_") or not columns:
            continue
        found = database.execute(
            f"SELECT {', '.join(f'max({wrong})' for wrong in columns.values())} FROM {quoted([table])}"
        ).fetchone()
        for column, is_wrong in zip(columns, found, strict=True):
            if is_wrong:
                raise ValueError(f"{table}.{column} has a value that it cannot have")


def _wrong(column: sqlite3.Row) -> str:
    """An expression that is 1 for a value that the column may not have."""
    name, kind = quoted([column["name"]]), column["type"]
    kinds = [*KINDS[kind], *(() if column["notnull"] or column["pk"] else ("null",))]
    wrong = f"typeof({name}) NOT IN ({', '.join(repr(each) for each in kinds)})"
    least, most = RANGES.get(column["name"], (-REAL_MAX, REAL_MAX))
    return wrong if kind == "TEXT" else f"{wrong} OR {name} NOT BETWEEN {least} AND {most}"
