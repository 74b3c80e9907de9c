"""A trial's deliveries as NumPy arrays, with what every figure asks of them: which arrived, which are samples.

The arrays look into the memory of the trial's own columns and copy nothing. What is computed here is, digit for digit, what
`Delivery` computes of a single row: the same operations in the same order on the same doubles. NumPy only does them for all
rows at once; sums are still added without loss of digits, by `math.fsum`.

A place is a row's number in the trial, and the usual way to speak of some deliveries is an array of places.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.core.columns import NO_INTEGER, OUTCOMES, STATES, DeliveryColumns
from app.core.delivery import Delivery, Outcome, SampleState

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

ARRIVED = (Outcome.ON_TIME, Outcome.LATE, Outcome.REPLAYED)
"""Outcomes of which each expected delivery has at most one."""

SAMPLED = (Outcome.ON_TIME, Outcome.LATE)
"""Outcomes of a sample."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Arrays of shape (n,), one value for each delivery of the trial. Not to be written to."""

    deliveries: DeliveryColumns
    client: Integers
    seq: Integers
    warmup: Mask
    due_us: Integers
    sent_us: Integers
    """Meaningful where `has_sent`."""
    has_sent: Mask
    received_client_us: Floats
    """NaN where there is none; likewise below."""
    clock_offset_us: Floats
    clock_bound_us: Floats
    kernel_received_us: Floats
    received_us: Floats
    """Arrival in server time."""
    delay_ms: Floats
    """Arrival minus due."""
    state: NDArray[np.int8]
    """Places in `STATES`."""
    outcome: NDArray[np.int8]
    """Places in `OUTCOMES`."""
    has_arrived: Mask
    """On time, late or replayed."""
    is_sample: Mask
    """Whether its delay may be used; see `metrics.py`."""

    def has_state(self, *states: SampleState) -> Mask:
        """Rows in one of these states."""
        return _is_one_of(self.state, [STATES.index(each) for each in states])

    def has_outcome(self, *outcomes: Outcome) -> Mask:
        """Rows with one of these outcomes."""
        return _is_one_of(self.outcome, [OUTCOMES.index(each) for each in outcomes])

    def samples(self) -> Integers:
        """Places of the samples, in their order."""
        return np.flatnonzero(self.is_sample)

    def rows(self, chosen: Mask) -> tuple[Delivery, ...]:
        """The deliveries themselves, for what looks at a few of them one by one."""
        return self.deliveries.at(np.flatnonzero(chosen).tolist())


def columns_of(deliveries: Sequence[Delivery]) -> Columns:
    """The arrays of a trial's deliveries; quick for those that are columns already."""
    found = DeliveryColumns.of(deliveries)
    due_us, received_client_us = _view(found.due_us), _view(found.received_client_us)
    sent_us, clock_offset_us = _view(found.sent_us), _view(found.clock_offset_us)
    warmup, outcome, state = _view(found.warmup).astype(bool), _view(found.outcome), _view(found.state)
    received_us = received_client_us + clock_offset_us
    sampled = _is_one_of(outcome, [OUTCOMES.index(each) for each in SAMPLED])
    return Columns(
        deliveries=found,
        client=_view(found.client),
        seq=_view(found.seq),
        warmup=warmup,
        due_us=due_us,
        sent_us=sent_us,
        has_sent=sent_us != NO_INTEGER,
        received_client_us=received_client_us,
        clock_offset_us=clock_offset_us,
        clock_bound_us=_view(found.clock_bound_us),
        kernel_received_us=_view(found.kernel_received_us),
        received_us=received_us,
        delay_ms=(received_us - due_us) / 1000,
        state=state,
        outcome=outcome,
        has_arrived=_is_one_of(outcome, [OUTCOMES.index(each) for each in ARRIVED]),
        is_sample=~warmup & sampled & (state == STATES.index(SampleState.OK)) & ~np.isnan(received_us),
    )


def first_of_each(columns: Columns, chosen: Mask) -> Integers:
    """Places of the first row of each notification at each client among the chosen ones, in their order."""
    places = np.flatnonzero(chosen)
    # A stable sort: rows of the same notification at the same client stay in their order.
    places = places[np.lexsort((columns.seq[places], columns.client[places]))]
    client, seq = columns.client[places], columns.seq[places]
    is_new = np.ones(len(places), dtype=bool)
    is_new[1:] = (client[1:] != client[:-1]) | (seq[1:] != seq[:-1])
    return np.sort(places[is_new])


def of_some_clients(columns: Columns, participants: Sequence[int], *, rows_max: int) -> Mask:
    """Rows of every so-many-th client, so that about `rows_max` are left; all of them where there are no more.

    `participants`: phones that took part, counted as they sit: by their seats' own numbers, phones that all sit on odd
    ones would be passed over whole. Empty for built-in clients, which are 0 to the count.
    """
    step = -(-len(columns.client) // rows_max) or 1
    places = np.searchsorted(sorted(participants), columns.client) if participants else columns.client
    return np.asarray(places % step == 0)


def _is_one_of(codes: NDArray[np.int8], wanted: Sequence[int]) -> Mask:
    """Like `numpy.isin`, which takes some ten times as long for a client's few hundred codes."""
    found = np.zeros(len(codes), dtype=bool)
    for code in wanted:
        found |= codes == code
    return found


def _view(column: array[Any]) -> NDArray[Any]:
    """A look at an array's memory: nothing is copied."""
    view = np.asarray(column)
    view.flags.writeable = False
    return view
