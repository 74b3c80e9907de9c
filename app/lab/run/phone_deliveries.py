"""Rows of a trial with phones, made from posted samples: one per participant and expected notification.

Due and send times are from the server's own record. Phones are trusted only for what they alone know: the time of an arrival,
the quality of their clock, and the state of their page. Lifecycle reports and device data are read here too.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

from app.core.clocksync.sync import BOUND_MAX_US
from app.core.columns import DeliveryColumns
from app.core.delivery import Lifecycle, Outcome, SampleState
from app.core.errors import MalformedPosition
from app.core.lifecycle import LifecycleReport
from app.core.plan.scenario import Arm
from app.core.position import parse_position
from app.lab.run.matching import Expected


class PhoneRow(Protocol):
    """A posted batch as a row of the store."""

    def __getitem__(self, name: str, /) -> Any:
        """Return a column by its name."""


class Sample(NamedTuple):
    """The used columns of a posted sample, by the names of table `client_sample`."""

    id: str
    transport: str
    received_client_us: float
    clock_offset_us: float | None
    clock_bound_us: float | None
    state: str
    outcome: str
    visible: bool
    lifecycle: str | None


NO_STAMPS = (None, None, None, None)
"""Stamps of a lost notification."""

EVENTS_MAX = 32
"""Lifecycle events that are kept of one report."""


def phone_deliveries(
    arm: Arm,
    expected: Sequence[Expected],
    samples: Mapping[int, Sequence[Sample]],
    participants: Iterable[int],
    *,
    drain_s: float,
) -> DeliveryColumns:
    """Return rows by participant, then by notification. `samples` are by participant, in order of arrival."""
    return DeliveryColumns.of_rows(_rows(arm, expected, samples, participants, late_us=drain_s * 1e6))


def _rows(
    arm: Arm,
    expected: Sequence[Expected],
    samples: Mapping[int, Sequence[Sample]],
    participants: Iterable[int],
    *,
    late_us: float,
) -> Iterator[tuple[Any, ...]]:
    """Yield rows as tuples in the order of `app.core.columns.NAMES`; objects would be slow for a million rows."""
    for client in participants:
        by_offset: dict[int, list[Sample]] = {}
        for sample in samples.get(client, ()):
            by_offset.setdefault(_offset(sample.id), []).append(sample)
        for each in expected:
            head = (client, each.seq, each.warmup, each.offset, each.due_us, each.sent_us)
            arrivals = by_offset.get(each.offset, ()) if each.offset is not None else ()
            if not arrivals:
                state = SampleState.WARMUP if each.warmup else SampleState.OK
                yield (*head, *NO_STAMPS, state, Outcome.LOST, True, Lifecycle.VISIBLE)
            elif len(arrivals) == 1:
                yield (*head, *_arrival(each, arrivals[0], arm, late_us))
            else:
                first, *others = sorted(arrivals, key=lambda sample: sample.outcome == Outcome.DUPLICATE)
                yield (*head, *_arrival(each, first, arm, late_us))
                yield from ((*head, *_arrival(each, again, arm, None)) for again in others)


def lifecycle_reports_of(
    batches: Iterable[PhoneRow], clients: Mapping[str, int]
) -> tuple[LifecycleReport, ...]:
    """Return the last lifecycle report of each participant; `clients` are by device."""
    last: dict[int, LifecycleReport] = {}
    for batch in batches:
        client = clients.get(batch["device"])
        if client is not None and batch["conduct"] is not None:
            last[client] = _lifecycle_report(client, json.loads(batch["conduct"]))
    return tuple(last[client] for client in sorted(last))


def devices_of(batches: Iterable[PhoneRow], clients: Mapping[str, int]) -> dict[int, dict[str, Any]]:
    """Return the device data that each participant posted."""
    devices = [
        (client, json.loads(batch["conduct"]).get("device"))
        for batch in batches
        if batch["conduct"] is not None and (client := clients.get(batch["device"])) is not None
    ]
    return {client: dict(device) for client, device in devices if isinstance(device, dict)}


def _lifecycle_report(client: int, values: Mapping[str, Any]) -> LifecycleReport:
    events = [(float(at_us), str(kind)) for at_us, kind in (values.get("events") or [])[:EVENTS_MAX]]
    return LifecycleReport(
        client=client,
        disconnects=int(values.get("disconnects") or 0),
        hidden_ms=float(values.get("hidden_ms") or 0.0),
        frozen_ms=float(values.get("frozen_ms") or 0.0),
        suspended_ms=float(values.get("suspended_ms") or 0.0),
        clock_steps=int(values.get("clock_steps") or 0),
        expected_count=int(values.get("expected_count") or 0),
        received_count=int(values.get("received_count") or 0),
        events=tuple(events),
        wall_ahead_us=None if (ahead_us := values.get("wall_ahead_us")) is None else float(ahead_us),
    )


@lru_cache(maxsize=10_000)
def _offset(position: str) -> int:
    """Return the offset in a position, -1 for a malformed one. Cached, because all phones post the same positions."""
    try:
        return parse_position(position).offset
    except MalformedPosition:
        return -1


def _arrival(each: Expected, sample: Sample, arm: Arm, late_us: float | None) -> tuple[Any, ...]:
    """Return the columns of an arrival from its stamp on. `late_us` is the drain limit, `None` for a duplicate."""
    lifecycle = sample.lifecycle or (Lifecycle.VISIBLE if sample.visible else Lifecycle.HIDDEN)
    offset_us, received_us = sample.clock_offset_us, sample.received_client_us
    replayed = sample.outcome == Outcome.REPLAYED
    if late_us is None:
        outcome = Outcome.DUPLICATE
    elif replayed:
        outcome = Outcome.REPLAYED
    else:
        is_late = lifecycle in (Lifecycle.FROZEN, Lifecycle.RESUMED) or (
            offset_us is not None and received_us + offset_us - each.due_us > late_us
        )
        outcome = Outcome.LATE if is_late else Outcome.ON_TIME
    state = _state(each, sample, arm, replayed=replayed)
    # Phones have no kernel stamps.
    return received_us, offset_us, sample.clock_bound_us, None, state, outcome, sample.visible, lifecycle


def _state(each: Expected, sample: Sample, arm: Arm, *, replayed: bool) -> str:
    if each.warmup:
        return SampleState.WARMUP
    if replayed:
        return SampleState.REPLAY
    if sample.transport != arm.transport:
        return SampleState.POLLING
    state = sample.state
    if state == SampleState.POLLING and arm.factors.get("polling"):
        state = SampleState.OK  # The arm requires polling.
    if state != SampleState.OK:
        return state
    if sample.clock_offset_us is None or sample.clock_bound_us is None:
        return SampleState.NO_CLOCK
    return SampleState.OK if sample.clock_bound_us <= BOUND_MAX_US else SampleState.WIDE_U
