"""Example records of a run for tests."""

from __future__ import annotations

from dataclasses import replace

from app.core.delivery import Delivery, Outcome, SampleState
from app.core.instrument import ConnectionRecord, InstrumentRecord
from app.core.plan.scenario import Plan, TrialSpec, arms_from_names
from app.core.trial import CpuUse, Severity, TrialRecord, TrialWarning


def plan(**changes: object) -> Plan:
    """Return a small plan."""
    values = {
        "arms": arms_from_names(["sse", "socketio"]),
        "client_counts": (1, 2),
        "blocks": 2,
        "notifications": 3,
        "warmup_notifications": 1,
        "rate_hz": 100.0,
        "payload_bytes": 512,
        "seed": 7,
    }
    return Plan(**{**values, **changes})  # type: ignore[arg-type]


def delivery(**changes: object) -> Delivery:
    """Return an arrival 1.5 ms after its due time."""
    values = {
        "client": 0,
        "seq": 1,
        "warmup": False,
        "offset": 12,
        "due_us": 1_000_000,
        "sent_us": 1_000_200,
        "received_client_us": 501_500.0,
        "clock_offset_us": 500_000.25,
        "clock_bound_us": 60.5,
        "kernel_received_us": 1_001_400.125,
        "state": SampleState.OK,
        "outcome": Outcome.ON_TIME,
        "visible": True,
    }
    return Delivery(**{**values, **changes})  # type: ignore[arg-type]


def trial(index: int = 0) -> TrialRecord:
    """Return a trial with one arrival, one loss, a warning and its CPU."""
    return TrialRecord(
        spec=TrialSpec(index, 0, 1, plan().arms[0]),
        started_us=990_000,
        ended_us=1_050_000,
        published=4,
        source_lag_us=(200, 210, 190),
        deliveries=(
            delivery(),
            delivery(
                seq=2,
                received_client_us=None,
                clock_offset_us=None,
                clock_bound_us=None,
                kernel_received_us=None,
                outcome=Outcome.LOST,
            ),
        ),
        cpu=CpuUse(1.1, 0.02, 0.01, 0.031, True, 0.2, 2, 30, 4, 50_000_000, 12.5, None),
        client_loop_lag_ms_p99=0.4,
        client_cpu_s=0.05,
        disconnects=1,
        disturbances=2,
        completed=True,
        warnings=(TrialWarning("source_failed", Severity.VOID, {"published": 3}),),
    )


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
