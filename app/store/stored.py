"""What the store keeps beside the records of trials: a run's head, raw publications, clock probes, phones' batches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.core.clocksync.sync import Probe
from app.core.plan.scenario import Plan


@dataclass(frozen=True, slots=True)
class RunHead:
    """What is known of a run before its first trial."""

    id: str
    started: str
    """ISO 8601, UTC."""
    plan: Plan
    conditions: Mapping[str, object]
    simulated: bool = True


@dataclass(frozen=True, slots=True)
class Published:
    """A notification as its source recorded it."""

    seq: int
    offset: int
    due_us: int
    sent_us: int


@dataclass(frozen=True, slots=True)
class StampedProbe:
    """A clock probe and whose it was."""

    client: str
    timebase: str
    """Of a phone with how often it had begun its clock anew by then, as in `a1b2.0`: each is a clock segment."""
    probe: Probe


@dataclass(frozen=True, slots=True)
class ClientBatch:
    """Arrivals that a phone measured and posted."""

    device: str
    batch_id: str
    received_us: int
    run: str | None = None
    trial: int | None = None
    clock_channel: str | None = None
    timebase: str | None = None
    samples: tuple[Mapping[str, Any], ...] = ()
    """By the column names of table `client_sample`; what is missing is null, and what has no column is left out."""
    conduct: str | None = None
    """How the phone behaved in the trial, as JSON, if it came with this batch."""
    probes: tuple[StampedProbe, ...] = ()
    """By what its delays were read."""


BATCH_COLUMNS = ("device", "batch_id", "received_us", "run", "trial", "clock_channel", "timebase", "conduct")

SAMPLE_COLUMNS = (
    *("id", "transport", "due_us", "sent_us", "received_client_us", "displayed_client_us"),
    *("clock_offset_us", "clock_bound_us", "state", "outcome", "visible", "lifecycle"),
)
