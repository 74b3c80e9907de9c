"""Values that the store keeps in addition to trials: a run's head, raw publications, clock probes, phones' batches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.core.clocksync.sync import Probe
from app.core.plan.scenario import Plan


@dataclass(frozen=True, slots=True)
class RunHead:
    """Description of a run that is known before its first trial."""

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
    """A clock probe with its client and time base."""

    client: str
    timebase: str
    """The server's time base. For a phone, followed by the number of its clock's restarts, as in `a1b2.0`; each restart
    begins a new clock segment."""
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
    """Values by column of table `client_sample`; missing ones are stored as null, and unknown names are ignored."""
    conduct: str | None = None
    """The phone's lifecycle report of the trial as JSON; `None` if this batch has none."""
    probes: tuple[StampedProbe, ...] = ()
    """Clock probes from which the offsets of the samples were computed."""


BATCH_COLUMNS = ("device", "batch_id", "received_us", "run", "trial", "clock_channel", "timebase", "conduct")

SAMPLE_COLUMNS = (
    *("id", "transport", "due_us", "sent_us", "received_client_us", "displayed_client_us"),
    *("clock_offset_us", "clock_bound_us", "state", "outcome", "visible", "lifecycle"),
)
