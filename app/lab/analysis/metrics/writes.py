"""What the server recorded of its writes, beside the deliveries that they became: when each was handed over, and in which place.

A broadcast to N clients is N writes, one after another; the place of a delivery is how many clients were written to before.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.core.instrument import Writes
from app.core.trial import TrialRecord
from app.lab.analysis.columns import Columns, Integers, Mask

NOT_WRITTEN = -1


@dataclass(frozen=True, slots=True)
class ServerWrites:
    """Of each delivery of a trial, by its place among them; shape (n,)."""

    accepted_us: Integers
    """When the server handed the kernel the last of it; `NOT_WRITTEN` where it recorded nothing."""
    place: Integers
    """Which of the clients was written to first, from 0; `NOT_WRITTEN` likewise."""

    @property
    def is_known(self) -> Mask:
        """Where something was recorded."""
        known: Mask = self.accepted_us != NOT_WRITTEN
        return known


def has_writes(record: TrialRecord) -> bool:
    """Whether the server recorded a single write to a client of the trial."""
    connections = record.instrument.connections if record.instrument else ()
    return any(each.client is not None and len(each.accepted) for each in connections)


def server_writes(record: TrialRecord, columns: Columns) -> ServerWrites:
    """The writes of a trial, each beside its delivery; the first where a client had several connections."""
    nothing = np.full(len(columns.client), NOT_WRITTEN, dtype=np.int64)
    if not has_writes(record):
        return ServerWrites(nothing, nothing)
    client, seq, accepted_us = _recorded(record)
    place = places_of(seq, accepted_us)
    index = _found(client, seq, columns)
    known = index >= 0
    return ServerWrites(
        np.where(known, accepted_us[index], NOT_WRITTEN), np.where(known, place[index], NOT_WRITTEN)
    )


def places_of(seq: Integers, accepted_us: Integers) -> Integers:
    """The place of each write among those of its notification, from 0; what happened at once keeps its order."""
    order = np.lexsort((accepted_us, seq))
    ordered = seq[order]
    is_first = np.r_[True, ordered[1:] != ordered[:-1]]
    starts = np.flatnonzero(is_first)
    places = np.empty(len(seq), dtype=np.int64)
    places[order] = np.arange(len(seq)) - np.repeat(starts, np.diff(np.r_[starts, len(seq)]))
    return places


def _recorded(record: TrialRecord) -> tuple[Integers, Integers, Integers]:
    """Client, number and moment of each write, one for each delivery, in the order of the record."""
    own = (
        [each for each in record.instrument.connections if each.client is not None]
        if record.instrument
        else []
    )
    columns = [Writes.of(each.accepted) for each in own]
    client = np.repeat([each.client for each in own], [len(each) for each in columns]).astype(np.int64)
    seq = np.concatenate([np.asarray(each.seq) for each in columns])
    accepted_us = np.concatenate([np.asarray(each.accepted_us) for each in columns])
    # A stable sort by delivery: the first of each is the one that the record has first, and the earliest write counts.
    order = np.lexsort((seq, client))
    client_by, seq_by = client[order], seq[order]
    starts = np.flatnonzero(np.r_[True, (client_by[1:] != client_by[:-1]) | (seq_by[1:] != seq_by[:-1])])
    earliest_us = np.minimum.reduceat(accepted_us[order], starts)
    first = order[starts]
    in_order = np.argsort(first)
    return client[first][in_order], seq[first][in_order], earliest_us[in_order]


def _found(client: Integers, seq: Integers, columns: Columns) -> Integers:
    """For each delivery the number of its write, or -1."""
    clients, client_code = np.unique(client, return_inverse=True)
    seqs, seq_code = np.unique(seq, return_inverse=True)
    keys = client_code * len(seqs) + seq_code
    order = np.argsort(keys)
    wanted = _code(clients, columns.client) * len(seqs) + _code(seqs, columns.seq)
    at = np.minimum(np.searchsorted(keys[order], wanted), len(keys) - 1)
    index = order[at]
    is_same = (client[index] == columns.client) & (seq[index] == columns.seq)
    found: Integers = np.where(is_same, index, -1)
    return found


def _code(known: Integers, values: Integers) -> Integers:
    """Where each value stands among the known ones; of an unknown one the place does not matter."""
    return np.minimum(np.searchsorted(known, values), len(known) - 1).astype(np.int64)
