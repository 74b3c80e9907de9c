"""Between who took part in a trial, how they behaved, and the two tables of it."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import fields
from typing import Any

from app.core.lifecycle import LifecycleReport
from app.store import schema
from app.store.database import quoted

COLUMNS = tuple(each.name for each in fields(LifecycleReport))

SINCE = {"wall_ahead_us": schema.WALL_SINCE}
"""The version that brought a column; the others were there from the first."""


def values(trial: int, conduct: LifecycleReport) -> tuple[Any, ...]:
    """The row of table `conduct`, in the order of its columns."""
    found = {name: getattr(conduct, name) for name in COLUMNS}
    return (trial, *{**found, "events": json.dumps(conduct.events)}.values())


def read(database: sqlite3.Connection, trial: int) -> tuple[tuple[int, ...], tuple[LifecycleReport, ...]]:
    """Participants of a trial and their conduct, by client; both empty in files from before there was any."""
    version = database.execute("PRAGMA user_version").fetchone()[0]
    if version < schema.CONDUCT_SINCE:
        return (), ()
    columns = [name for name in COLUMNS if SINCE.get(name, 0) <= version]
    participants = database.execute("SELECT client FROM participant WHERE trial = ? ORDER BY rowid", (trial,))
    conducts = database.execute(
        f"SELECT {quoted(columns)} FROM conduct WHERE trial = ? ORDER BY client", (trial,)
    )
    return (
        tuple(row["client"] for row in participants),
        tuple(_conduct(dict(row)) for row in conducts),
    )


def _conduct(found: dict[str, Any]) -> LifecycleReport:
    events = tuple((float(at_us), str(kind)) for at_us, kind in json.loads(found["events"]))
    return LifecycleReport(**{**found, "events": events})
