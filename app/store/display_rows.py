"""How long a trial's arrivals took to be painted, from what phones posted: table `client_sample`."""

from __future__ import annotations

import sqlite3
from array import array

from app.core.delivery import Outcome, SampleState

ARRIVED = (Outcome.ON_TIME.value, Outcome.LATE.value)
"""First arrivals; a page that resumes paints what it missed all at once."""

WARMUP = SampleState.WARMUP.value
"""What phones call an arrival that counts nowhere."""


def read(database: sqlite3.Connection, trial: int) -> array[float]:
    """Milliseconds from receipt to paint, by the phone's own clock, of each measured arrival that a visible page showed."""
    found = database.execute(
        "SELECT (displayed_client_us - received_client_us) / 1000.0 "
        "FROM client_batch JOIN client_sample USING (batch) "
        "WHERE trial = ? AND outcome IN (?, ?) AND visible AND displayed_client_us IS NOT NULL "
        "AND received_client_us IS NOT NULL AND state IS NOT ? ORDER BY batch, client_sample.rowid",
        (trial, *ARRIVED, WARMUP),
    )
    return array("d", (row[0] for row in found))
