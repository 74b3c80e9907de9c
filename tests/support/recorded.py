"""Trials as a server would have recorded them: when it handed each notification to each client's socket."""

from __future__ import annotations

from dataclasses import replace

from app.core.instrument import ConnectionRecord, InstrumentRecord
from app.core.trial import TrialRecord


def recorded(record: TrialRecord, *, server_us: int = 150, step_us: int = 0) -> TrialRecord:
    """The trial with the time of every write: `server_us` after sent to client 0, `step_us` more to each further one."""
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
