"""Requests of one trial to the server's source: its start, and its record afterwards."""

from __future__ import annotations

from collections.abc import Callable

from app.core.plan.scenario import Plan, TrialSpec, arm_plan
from app.lab.run.api import Operator
from app.lab.run.trial_warnings import SourceRecord
from app.store.store import Published

RECORD_TRIES = 50
RECORD_PAUSE_S = 0.02
"""Attempts and pauses of reading the record, which the source completes shortly after the last notification."""


def start_request(run: str, plan: Plan, spec: TrialSpec, *, start_after_s: float) -> dict[str, object]:
    """Return the body of `POST /api/trials`, with `instrument` only if set, so that older servers accept it."""
    own = arm_plan(plan, spec.arm)
    request: dict[str, object] = {
        "run": run,
        "trial": spec.index,
        "block": spec.block,
        "transport": spec.arm.transport,
        "notifications": own.notifications,
        "warmup_notifications": own.warmup_notifications,
        "rate_hz": own.rate_hz,
        "payload_bytes": own.payload_bytes,
        "start_after_ms": round(start_after_s * 1000),
        "drain_ms": round(own.drain_s * 1000),
    }
    return {**request, "instrument": True} if plan.instrument else request


def source_record(
    operator: Operator, run: str, spec: TrialSpec, *, is_complete: bool, pause: Callable[[float], None]
) -> SourceRecord:
    """Read the source's record, wait for its end if `is_complete`, and close the trial."""
    tries_left = RECORD_TRIES if is_complete else 1
    answer = operator.trial(run, spec.index)
    while answer["state"] == "running" and (tries_left := tries_left - 1):
        pause(RECORD_PAUSE_S)
        answer = operator.trial(run, spec.index)
    operator.close_trial(run, spec.index)
    return SourceRecord(
        state=str(answer["state"]),
        published=tuple(Published(*row) for row in sorted(answer["published"])),
        disturbances=int(answer["disturbances"]),
        paths=tuple(answer["paths"]),
        asked_path=spec.arm.factors.get("fanout"),
        codings=tuple(answer["codings"]),
        asked_compression=spec.arm.factors.get("compression"),
    )
