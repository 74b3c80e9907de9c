"""Between who took part in a trial, how they behaved, and the two tables of it."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import fields
from typing import Any

from app.core.conduct import Conduct
from app.measure import schema
from app.measure.database import quoted

COLUMNS = tuple(each.name for each in fields(Conduct))


def values(trial: int, conduct: Conduct) -> tuple[Any, ...]:
    """The row of table `conduct`, in the order of its columns."""
    found = {name: getattr(conduct, name) for name in COLUMNS}
    return (trial, *{**found, "events": json.dumps(conduct.events)}.values())


def read(database: sqlite3.Connection, trial: int) -> tuple[tuple[int, ...], tuple[Conduct, ...]]:
    """Participants of a trial and their conduct, by client; both empty in files from before there was any."""
    if database.execute("PRAGMA user_version").fetchone()[0] < schema.CONDUCT_SINCE:
        return (), ()
    participants = database.execute("SELECT client FROM participant WHERE trial = ? ORDER BY rowid", (trial,))
    conducts = database.execute(
        f"SELECT {quoted(COLUMNS)} FROM conduct WHERE trial = ? ORDER BY client", (trial,)
    )
    return (
        tuple(row["client"] for row in participants),
        tuple(_conduct(dict(row)) for row in conducts),
    )


def _conduct(found: dict[str, Any]) -> Conduct:
    events = tuple((float(at_us), str(kind)) for at_us, kind in json.loads(found["events"]))
    return Conduct(**{**found, "events": events})
