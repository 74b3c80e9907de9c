"""The server's writes matched to deliveries: the time of each write, and its place in the order of writing.

A broadcast to N clients is N writes, one after another. The place of a delivery is the number of clients written to before.
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
    """The write of each delivery of a trial, in the order of the deliveries; shape (n,)."""

    accepted_us: Integers
    """The time at which the kernel accepted the last byte; `NOT_WRITTEN` where nothing was recorded."""
    place: Integers
    """The place of the client in the order of writing, from 0; `NOT_WRITTEN` likewise."""

    @property
    def is_known(self) -> Mask:
        """Return the mask of deliveries whose write was recorded."""
        known: Mask = self.accepted_us != NOT_WRITTEN
        return known


def has_writes(record: TrialRecord) -> bool:
    """Return True if the server recorded at least one write to a client of the trial."""
    connections = record.instrument.connections if record.instrument else ()
    return any(each.client is not None and len(each.accepted) for each in connections)


def server_writes(record: TrialRecord, columns: Columns) -> ServerWrites:
    """Match the writes of a trial to its deliveries; of a client with several connections the first write counts."""
    nothing = np.full(len(columns.client), NOT_WRITTEN, dtype=np.int64)
    if not has_writes(record):
        return ServerWrites(nothing, nothing)
    client, seq, accepted_us = _recorded(record)
    place = places_of(seq, accepted_us)
    index = _write_of_each(client, seq, columns)
    known = index >= 0
    return ServerWrites(
        np.where(known, accepted_us[index], NOT_WRITTEN), np.where(known, place[index], NOT_WRITTEN)
    )


def places_of(seq: Integers, accepted_us: Integers) -> Integers:
    """Return the place of each write among those of its notification, from 0; simultaneous writes keep their order."""
    order = np.lexsort((accepted_us, seq))
    ordered = seq[order]
    is_first = np.r_[True, ordered[1:] != ordered[:-1]]
    starts = np.flatnonzero(is_first)
    places = np.empty(len(seq), dtype=np.int64)
    places[order] = np.arange(len(seq)) - np.repeat(starts, np.diff(np.r_[starts, len(seq)]))
    return places


def _recorded(record: TrialRecord) -> tuple[Integers, Integers, Integers]:
    """Return client, sequence number and time of the earliest write of each delivery, in the order of the record."""
    own = (
        [each for each in record.instrument.connections if each.client is not None]
        if record.instrument
        else []
    )
    columns = [Writes.of(each.accepted) for each in own]
    client = np.repeat([each.client for each in own], [len(each) for each in columns]).astype(np.int64)
    seq = np.concatenate([np.asarray(each.seq) for each in columns])
    accepted_us = np.concatenate([np.asarray(each.accepted_us) for each in columns])
    # The sort is stable: the first row of each delivery is the first in the record, and takes the earliest time.
    order = np.lexsort((seq, client))
    client_by, seq_by = client[order], seq[order]
    starts = np.flatnonzero(np.r_[True, (client_by[1:] != client_by[:-1]) | (seq_by[1:] != seq_by[:-1])])
    earliest_us = np.minimum.reduceat(accepted_us[order], starts)
    first = order[starts]
    in_order = np.argsort(first)
    return client[first][in_order], seq[first][in_order], earliest_us[in_order]


def _write_of_each(client: Integers, seq: Integers, columns: Columns) -> Integers:
    """Return the index of each delivery's write, or -1."""
    clients, client_code = np.unique(client, return_inverse=True)
    seqs, seq_code = np.unique(seq, return_inverse=True)
    keys = client_code * len(seqs) + seq_code
    order = np.argsort(keys)
    wanted = _index_among(clients, columns.client) * len(seqs) + _index_among(seqs, columns.seq)
    at = np.minimum(np.searchsorted(keys[order], wanted), len(keys) - 1)
    index = order[at]
    is_same = (client[index] == columns.client) & (seq[index] == columns.seq)
    found: Integers = np.where(is_same, index, -1)
    return found


def _index_among(known: Integers, values: Integers) -> Integers:
    """Return the index of each value among the known ones; for an unknown value it is arbitrary but valid."""
    return np.minimum(np.searchsorted(known, values), len(known) - 1).astype(np.int64)
