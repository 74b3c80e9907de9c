"""From what phones posted of a trial to its rows: one per participant and expected notification, and their conduct.

When a notification was due and sent the server's own record says, not the phone's. A phone's word counts for what only
it can know: when the notification came, by a clock how good, and whether its page was attending.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from app.core.clocksync import BOUND_MAX_US
from app.core.conduct import Conduct
from app.core.delivery import Delivery, Lifecycle, Outcome, SampleState
from app.core.errors import MalformedPosition
from app.core.position import parse_position
from app.core.scenario import Arm
from app.experiment.matching import Expected, lost


class Row(Protocol):
    """A posted sample, or a batch, as the store gives it."""

    def __getitem__(self, name: str, /) -> Any:
        """A column by its name."""


EVENTS_MAX = 32


def phone_deliveries(
    arm: Arm,
    expected: Sequence[Expected],
    samples: Mapping[int, Sequence[Row]],
    participants: Iterable[int],
    *,
    drain_s: float,
) -> Iterator[Delivery]:
    """Rows by participant, then by notification; `samples` by participant, in the order in which they came."""
    for client in participants:
        by_offset: dict[int, list[Row]] = {}
        for sample in samples.get(client, ()):
            by_offset.setdefault(_offset(sample), []).append(sample)
        for each in expected:
            came = by_offset.get(each.offset, []) if each.offset is not None else []
            came = sorted(came, key=lambda sample: sample["outcome"] == Outcome.DUPLICATE)
            if not came:
                yield lost(client, each)
            for number, sample in enumerate(came):
                yield _row(client, each, sample, arm, late_us=None if number else drain_s * 1e6)


def conducts_of(batches: Iterable[Row], clients: Mapping[str, int]) -> tuple[Conduct, ...]:
    """What each participant said of itself, the last word of each; `clients` by device."""
    last: dict[int, Conduct] = {}
    for batch in batches:
        client = clients.get(batch["device"])
        if client is not None and batch["conduct"] is not None:
            last[client] = _conduct(client, json.loads(batch["conduct"]))
    return tuple(last[client] for client in sorted(last))


def devices_of(batches: Iterable[Row], clients: Mapping[str, int]) -> dict[int, dict[str, Any]]:
    """What each participant said of its device."""
    said = [
        (client, json.loads(batch["conduct"]).get("device"))
        for batch in batches
        if batch["conduct"] is not None and (client := clients.get(batch["device"])) is not None
    ]
    return {client: dict(device) for client, device in said if isinstance(device, dict)}


def _conduct(client: int, said: Mapping[str, Any]) -> Conduct:
    events = [(float(at_us), str(kind)) for at_us, kind in (said.get("events") or [])[:EVENTS_MAX]]
    return Conduct(
        client=client,
        disconnects=int(said.get("disconnects") or 0),
        hidden_ms=float(said.get("hidden_ms") or 0.0),
        frozen_ms=float(said.get("frozen_ms") or 0.0),
        suspended_ms=float(said.get("suspended_ms") or 0.0),
        clock_steps=int(said.get("clock_steps") or 0),
        expected_count=int(said.get("expected_count") or 0),
        received_count=int(said.get("received_count") or 0),
        events=tuple(events),
    )


def _offset(sample: Row) -> int:
    try:
        return parse_position(str(sample["id"])).offset
    except MalformedPosition:
        return -1


def _row(client: int, each: Expected, sample: Row, arm: Arm, *, late_us: float | None) -> Delivery:
    """`late_us`: the drain limit; `None` for a second arrival."""
    lifecycle = _lifecycle(sample)
    offset_us, received_us = sample["clock_offset_us"], sample["received_client_us"]
    replayed = sample["outcome"] == Outcome.REPLAYED
    is_late = late_us is not None and (
        lifecycle in (Lifecycle.FROZEN, Lifecycle.RESUMED)
        or (offset_us is not None and received_us + offset_us - each.due_us > late_us)
    )
    if late_us is None:
        outcome = Outcome.DUPLICATE
    elif replayed:
        outcome = Outcome.REPLAYED
    else:
        outcome = Outcome.LATE if is_late else Outcome.ON_TIME
    return Delivery(
        client=client,
        seq=each.seq,
        warmup=each.warmup,
        offset=each.offset,
        due_us=each.due_us,
        sent_us=each.sent_us,
        received_client_us=received_us,
        clock_offset_us=offset_us,
        clock_bound_us=sample["clock_bound_us"],
        kernel_received_us=None,
        state=_state(each, sample, arm, replayed=replayed),
        outcome=outcome,
        visible=bool(sample["visible"]),
        lifecycle=lifecycle,
    )


def _state(each: Expected, sample: Row, arm: Arm, *, replayed: bool) -> SampleState:
    said = SampleState(sample["state"])
    if each.warmup:
        return SampleState.WARMUP
    if replayed:
        return SampleState.REPLAY
    if sample["transport"] != arm.transport:
        return SampleState.POLLING
    if said is SampleState.POLLING and arm.factors.get("polling"):
        said = SampleState.OK  # What the arm asks for is no fault.
    if said is not SampleState.OK:
        return said
    if sample["clock_offset_us"] is None or sample["clock_bound_us"] is None:
        return SampleState.NO_CLOCK
    return SampleState.OK if sample["clock_bound_us"] <= BOUND_MAX_US else SampleState.WIDE_U


def _lifecycle(sample: Row) -> Lifecycle:
    said = sample["lifecycle"]
    if said is None:
        return Lifecycle.VISIBLE if sample["visible"] else Lifecycle.HIDDEN
    return Lifecycle(said)
