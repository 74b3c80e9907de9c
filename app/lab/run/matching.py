"""Matching of published notifications with arrivals: one row per client and expected notification."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from app.core.clocksync.sync import ClockSync
from app.core.delivery import Delivery, Outcome, SampleState
from app.core.pacing import due_us
from app.core.plan.scenario import Plan, TrialSpec
from app.lab.run.clients import Arrival
from app.store.store import Published


@dataclass(frozen=True, slots=True)
class Expected:
    """A notification of the trial, published or not."""

    seq: int
    warmup: bool
    due_us: int
    offset: int | None
    sent_us: int | None


def expected_of(plan: Plan, first_due_us: int, published: Sequence[Published]) -> list[Expected]:
    """Return the notifications that should arrive: from the source's record, or else from the schedule."""
    by_seq = {each.seq: each for each in published}
    expected = []
    for seq in range(plan.warmup_notifications + plan.notifications):
        found = by_seq.get(seq)
        expected.append(
            Expected(
                seq,
                seq < plan.warmup_notifications,
                found.due_us if found else due_us(first_due_us, plan.rate_hz, seq),
                found.offset if found else None,
                found.sent_us if found else None,
            )
        )
    return expected


def deliveries(
    spec: TrialSpec,
    plan: Plan,
    expected: Sequence[Expected],
    arrivals: Mapping[int, Sequence[Arrival]],
    clock: ClockSync,
) -> Iterator[Delivery]:
    """Yield one row per client and expected notification, followed by a row for each duplicate."""
    for client in range(spec.clients):
        by_seq: dict[int, list[Arrival]] = {}
        for arrival in arrivals.get(client, ()):
            by_seq.setdefault(arrival.seq, []).append(arrival)
        for each in expected:
            found = by_seq.get(each.seq)
            if not found:
                yield lost(client, each)
                continue
            yield _row(client, each, found[0], clock, late_us=plan.drain_s * 1e6)
            for again in found[1:]:
                yield _row(client, each, again, clock, late_us=None)


def lost(client: int, each: Expected) -> Delivery:
    """Return the row of an expected notification that did not arrive."""
    return Delivery(
        client=client,
        seq=each.seq,
        warmup=each.warmup,
        offset=each.offset,
        due_us=each.due_us,
        sent_us=each.sent_us,
        received_client_us=None,
        clock_offset_us=None,
        clock_bound_us=None,
        kernel_received_us=None,
        state=SampleState.WARMUP if each.warmup else SampleState.OK,
        outcome=Outcome.LOST,
    )


def _row(
    client: int, each: Expected, arrival: Arrival, clock: ClockSync, *, late_us: float | None
) -> Delivery:
    """Return the row of an arrival. `late_us` is the drain limit, or `None` for a duplicate."""
    reading = clock.read(arrival.received_us)
    kernel_us = None
    if arrival.kernel_us is not None and reading.offset_us is not None:
        kernel_us = arrival.kernel_us + reading.offset_us
    if each.warmup:
        state = SampleState.WARMUP
    elif arrival.replayed:
        state = SampleState.REPLAY
    else:
        state = SampleState(reading.state)
    if late_us is None:
        outcome = Outcome.DUPLICATE
    elif arrival.replayed:
        outcome = Outcome.REPLAYED
    elif reading.offset_us is not None and arrival.received_us + reading.offset_us - each.due_us > late_us:
        outcome = Outcome.LATE
    else:
        outcome = Outcome.ON_TIME
    return Delivery(
        client=client,
        seq=each.seq,
        warmup=each.warmup,
        offset=each.offset if each.offset is not None else arrival.offset,
        due_us=each.due_us,
        sent_us=each.sent_us,
        received_client_us=float(arrival.received_us),
        clock_offset_us=reading.offset_us,
        clock_bound_us=reading.bound_us,
        kernel_received_us=kernel_us,
        state=state,
        outcome=outcome,
    )
