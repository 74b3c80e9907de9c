"""Check of the types and ranges of a run's values, which SQLite itself does not enforce.

Without it, a wrong value from a faulty disk or a foreign archive would cause a `TypeError` in the middle of the analysis,
and a client number in the billions would exhaust the memory.
"""

from __future__ import annotations

import sqlite3

from app.core.plan.scenario import CLIENTS_MAX
from app.store.database import quoted

CHECKED_COLUMNS = {"delivery": ("client",), "accepted": ()}
"""Columns to check of tables with millions of rows. Their other columns are read into typed arrays (`rows.py`), which
check the types; all columns of other tables are checked."""

KINDS = {"INTEGER": ("integer",), "REAL": ("real", "integer"), "TEXT": ("text",)}
"""Storage classes of SQLite that a declared type allows."""

RANGES = {
    "client": (0, CLIENTS_MAX - 1),
    "clients": (0, CLIENTS_MAX),
    "cores": (1, 100_000),
    "wall_s": (1e-9, 1e9),
}
"""Allowed range by column name, for values that size arrays or divide."""

REAL_MAX = 1e300
"""Largest allowed number; a larger one is infinite, or becomes so in the first sum."""


def check(database: sqlite3.Connection) -> None:
    """Raise `ValueError`, which names table and column, for the first value of a wrong type or out of its range."""
    names = database.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").fetchall()
    for (table,) in names:
        columns = {
            row["name"]: _wrong(row)
            for row in database.execute(f"PRAGMA table_info({quoted([table])})")
            if row["name"] in CHECKED_COLUMNS.get(table, (row["name"],))
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
    """Return an SQL expression that is 1 for a value that the column may not have."""
    name, kind = quoted([column["name"]]), column["type"]
    kinds = [*KINDS[kind], *(() if column["notnull"] or column["pk"] else ("null",))]
    wrong = f"typeof({name}) NOT IN ({', '.join(repr(each) for each in kinds)})"
    least, most = RANGES.get(column["name"], (-REAL_MAX, REAL_MAX))
    return wrong if kind == "TEXT" else f"{wrong} OR {name} NOT BETWEEN {least} AND {most}"
