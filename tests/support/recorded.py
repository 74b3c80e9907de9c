"""Trials with a server's record of when it wrote each notification to each client's socket."""

from __future__ import annotations

from dataclasses import replace

from app.core.instrument import ConnectionRecord, InstrumentRecord
from app.core.trial import TrialRecord


def recorded(record: TrialRecord, *, server_us: int = 150, step_us: int = 0) -> TrialRecord:
    """Return the trial with write times.

    They are `server_us` after sent for client 0, `step_us` more for each further client.
    """
    if record.spec.idle:
        return record
    connections = tuple(
        ConnectionRecord(
            client,
            "127.0.0.1",
            4000 + client,
            tuple(
                (each.seq, (each.sent_us or 0) + server_us + step_us * client)
                for each in record.deliveries
                if each.client == client
            ),
        )
        for client in range(record.spec.clients)
    )
    return replace(record, instrument=InstrumentRecord(None, 0, connections))
