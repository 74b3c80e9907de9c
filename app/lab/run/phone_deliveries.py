"""From what phones posted of a trial to its rows: one per participant and expected notification, and their conduct.

When a notification was due and sent the server's own record says, not the phone's. A phone's word counts for what only
it can know: when the notification came, by a clock how good, and whether its page was attending.
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
    """A batch as the store gives it."""

    def __getitem__(self, name: str, /) -> Any:
        """A column by its name."""


class Sample(NamedTuple):
    """What counts of a posted sample; the names are those of table `client_sample`."""

    id: str
    transport: str
    received_client_us: float
    clock_offset_us: float | None
    clock_bound_us: float | None
    state: str
    outcome: str
    visible: bool
    lifecycle: str | None


NOTHING = (None, None, None, None)
"""The stamps of what never came."""

EVENTS_MAX = 32


def phone_deliveries(
    arm: Arm,
    expected: Sequence[Expected],
    samples: Mapping[int, Sequence[Sample]],
    participants: Iterable[int],
    *,
    drain_s: float,
) -> DeliveryColumns:
    """Rows by participant, then by notification; `samples` by participant, in the order in which they came."""
    return DeliveryColumns.of_rows(_rows(arm, expected, samples, participants, late_us=drain_s * 1e6))


def _rows(
    arm: Arm,
    expected: Sequence[Expected],
    samples: Mapping[int, Sequence[Sample]],
    participants: Iterable[int],
    *,
    late_us: float,
) -> Iterator[tuple[Any, ...]]:
    """In the order of `app.core.columns.NAMES`, without an object for each: a large trial has a million."""
    for client in participants:
        by_offset: dict[int, list[Sample]] = {}
        for sample in samples.get(client, ()):
            by_offset.setdefault(_offset(sample.id), []).append(sample)
        for each in expected:
            head = (client, each.seq, each.warmup, each.offset, each.due_us, each.sent_us)
            came = by_offset.get(each.offset, ()) if each.offset is not None else ()
            if not came:
                state = SampleState.WARMUP if each.warmup else SampleState.OK
                yield (*head, *NOTHING, state, Outcome.LOST, True, Lifecycle.VISIBLE)
            elif len(came) == 1:
                yield (*head, *_judged(each, came[0], arm, late_us))
            else:
                first, *others = sorted(came, key=lambda sample: sample.outcome == Outcome.DUPLICATE)
                yield (*head, *_judged(each, first, arm, late_us))
                yield from ((*head, *_judged(each, again, arm, None)) for again in others)


def conducts_of(batches: Iterable[PhoneRow], clients: Mapping[str, int]) -> tuple[LifecycleReport, ...]:
    """What each participant said of itself, the last word of each; `clients` by device."""
    last: dict[int, LifecycleReport] = {}
    for batch in batches:
        client = clients.get(batch["device"])
        if client is not None and batch["conduct"] is not None:
            last[client] = _conduct(client, json.loads(batch["conduct"]))
    return tuple(last[client] for client in sorted(last))


def devices_of(batches: Iterable[PhoneRow], clients: Mapping[str, int]) -> dict[int, dict[str, Any]]:
    """What each participant said of its device."""
    said = [
        (client, json.loads(batch["conduct"]).get("device"))
        for batch in batches
        if batch["conduct"] is not None and (client := clients.get(batch["device"])) is not None
    ]
    return {client: dict(device) for client, device in said if isinstance(device, dict)}


def _conduct(client: int, said: Mapping[str, Any]) -> LifecycleReport:
    events = [(float(at_us), str(kind)) for at_us, kind in (said.get("events") or [])[:EVENTS_MAX]]
    return LifecycleReport(
        client=client,
        disconnects=int(said.get("disconnects") or 0),
        hidden_ms=float(said.get("hidden_ms") or 0.0),
        frozen_ms=float(said.get("frozen_ms") or 0.0),
        suspended_ms=float(said.get("suspended_ms") or 0.0),
        clock_steps=int(said.get("clock_steps") or 0),
        expected_count=int(said.get("expected_count") or 0),
        received_count=int(said.get("received_count") or 0),
        events=tuple(events),
        wall_ahead_us=None if (ahead_us := said.get("wall_ahead_us")) is None else float(ahead_us),
    )


@lru_cache(maxsize=10_000)
def _offset(position: str) -> int:
    """Every phone says the same of a notification."""
    try:
        return parse_position(position).offset
    except MalformedPosition:
        return -1


def _judged(each: Expected, sample: Sample, arm: Arm, late_us: float | None) -> tuple[Any, ...]:
    """From the arrival's stamp on. `late_us`: the drain limit; `None` for a second arrival."""
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
    # A phone's kernel gives no stamp.
    return received_us, offset_us, sample.clock_bound_us, None, state, outcome, sample.visible, lifecycle


def _state(each: Expected, sample: Sample, arm: Arm, *, replayed: bool) -> str:
    if each.warmup:
        return SampleState.WARMUP
    if replayed:
        return SampleState.REPLAY
    if sample.transport != arm.transport:
        return SampleState.POLLING
    said = sample.state
    if said == SampleState.POLLING and arm.factors.get("polling"):
        said = SampleState.OK  # What the arm asks for is no fault.
    if said != SampleState.OK:
        return said
    if sample.clock_offset_us is None or sample.clock_bound_us is None:
        return SampleState.NO_CLOCK
    return SampleState.OK if sample.clock_bound_us <= BOUND_MAX_US else SampleState.WIDE_U
