"""A trial's deliveries as NumPy arrays, and masks of those that arrived and those that are samples.

The arrays are views of the trial's own columns; nothing is copied. Each value equals, digit for digit, what `Delivery`
computes for a single row, because the same operations run in the same order on the same doubles. Sums are added
without loss of digits, by `math.fsum`.

A place is a row's index in the trial. A selection of deliveries is usually an array of places.
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
"""Outcomes of an arrival; each expected delivery has at most one row with one of them."""

SAMPLED = (Outcome.ON_TIME, Outcome.LATE)
"""Outcomes that a sample may have."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Read-only arrays of shape (n,), with one value for each delivery of the trial."""

    deliveries: DeliveryColumns
    client: Integers
    seq: Integers
    warmup: Mask
    due_us: Integers
    sent_us: Integers
    """Time of sending; meaningful only where `has_sent`."""
    has_sent: Mask
    received_client_us: Floats
    """Arrival by the client's clock; NaN where there is none, as in the arrays below."""
    clock_offset_us: Floats
    clock_bound_us: Floats
    kernel_received_us: Floats
    received_us: Floats
    """Arrival in server time."""
    delay_ms: Floats
    """Arrival minus due time."""
    state: NDArray[np.int8]
    """Indexes into `STATES`."""
    outcome: NDArray[np.int8]
    """Indexes into `OUTCOMES`."""
    has_arrived: Mask
    """True where the outcome is on time, late or replayed."""
    is_sample: Mask
    """True where the delay may be used; `metrics/trial_metrics.py` has the definition."""

    def has_state(self, *states: SampleState) -> Mask:
        """Return the mask of rows in one of these states."""
        return _is_one_of(self.state, [STATES.index(each) for each in states])

    def has_outcome(self, *outcomes: Outcome) -> Mask:
        """Return the mask of rows with one of these outcomes."""
        return _is_one_of(self.outcome, [OUTCOMES.index(each) for each in outcomes])

    def samples(self) -> Integers:
        """Return the places of the samples, ascending."""
        return np.flatnonzero(self.is_sample)

    def rows(self, chosen: Mask) -> tuple[Delivery, ...]:
        """Return the chosen deliveries as rows, for code that handles a few of them one by one."""
        return self.deliveries.at(np.flatnonzero(chosen).tolist())


def columns_of(deliveries: Sequence[Delivery]) -> Columns:
    """Return the arrays of a trial's deliveries; this is cheap for deliveries that are stored as columns."""
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
    """Return the place of the first chosen row of each notification at each client, ascending."""
    places = np.flatnonzero(chosen)
    # The sort is stable: rows of the same notification at the same client stay in their order.
    places = places[np.lexsort((columns.seq[places], columns.client[places]))]
    client, seq = columns.client[places], columns.seq[places]
    is_new = np.ones(len(places), dtype=bool)
    is_new[1:] = (client[1:] != client[:-1]) | (seq[1:] != seq[:-1])
    return np.sort(places[is_new])


def every_kth_client(columns: Columns, participants: Sequence[int], *, rows_max: int) -> Mask:
    """Return the mask of the rows of every k-th client, k being such that about `rows_max` rows are left.

    Without more rows than that, all are chosen. `participants`: the seats of the phones that took part, empty for
    built-in clients, which are numbered from 0. Phones are counted by their rank among the participants, because by
    seat number a step of two would leave out all phones if they sat on odd seats only.
    """
    step = -(-len(columns.client) // rows_max) or 1
    places = np.searchsorted(sorted(participants), columns.client) if participants else columns.client
    return np.asarray(places % step == 0)


def _is_one_of(codes: NDArray[np.int8], wanted: Sequence[int]) -> Mask:
    """Do what `numpy.isin` does, which takes some ten times as long for a client's few hundred codes."""
    found = np.zeros(len(codes), dtype=bool)
    for code in wanted:
        found |= codes == code
    return found


def _view(column: array[Any]) -> NDArray[Any]:
    """Return a read-only view of an array's memory."""
    view = np.asarray(column)
    view.flags.writeable = False
    return view
