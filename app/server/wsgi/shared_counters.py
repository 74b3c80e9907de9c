"""The counters of all processes of one server, in memory that is shared since before the fork.

    slot 0            sums of the workers that have ended: a counter must never go back
    slot 1, 2, ...    one for each worker: [sequence][half 0][half 1]

A worker writes the half that is not being read, and then the sequence, whose lowest bit selects the valid half. There
is no lock, so no process waits for another, and a killed one leaves nothing locked.
"""

from __future__ import annotations

import json
import mmap
import struct
from collections.abc import Callable, Iterable
from typing import Any

HALF_BYTES = 32_768
"""All counters with their labels are a few kilobytes."""

_SEQUENCE = struct.Struct("<Q")
_LENGTH = struct.Struct("<I")
_SLOT_BYTES = _SEQUENCE.size + 2 * HALF_BYTES

READ_TRIES = 5
"""Attempts to read a slot that is written at the same time."""

Content = dict[str, Any]


class SharedCounters:
    """Counters by worker slot. Created by the master before it forks."""

    def __init__(self, workers: int) -> None:
        # A replaced worker still drains while its successor runs.
        self._slots = 2 * workers + 1
        self._memory = mmap.mmap(-1, self._slots * _SLOT_BYTES)
        self.mine: int | None = None
        """The slot of this process; `None` in the master."""

    def free_slot(self, taken: Iterable[int]) -> int:
        """Return a slot for a new worker; `taken` are those of living workers."""
        used = set(taken)
        return next((slot for slot in range(1, self._slots) if slot not in used), self._slots - 1)

    def write(self, slot: int, content: Content) -> None:
        """Publish the content of a slot; content that is too long is dropped, and the previous one stays."""
        data = json.dumps(content).encode()
        if len(data) > HALF_BYTES - _LENGTH.size:
            return
        start = slot * _SLOT_BYTES
        sequence = _SEQUENCE.unpack_from(self._memory, start)[0] + 1
        half = start + _SEQUENCE.size + sequence % 2 * HALF_BYTES
        _LENGTH.pack_into(self._memory, half, len(data))
        self._memory[half + _LENGTH.size : half + _LENGTH.size + len(data)] = data
        _SEQUENCE.pack_into(self._memory, start, sequence)

    def read(self, slot: int) -> Content | None:
        """Return the content of a slot; `None` if there is none."""
        start = slot * _SLOT_BYTES
        for _ in range(READ_TRIES):
            sequence = _SEQUENCE.unpack_from(self._memory, start)[0]
            if sequence == 0:
                return None
            half = start + _SEQUENCE.size + sequence % 2 * HALF_BYTES
            size = min(_LENGTH.unpack_from(self._memory, half)[0], HALF_BYTES - _LENGTH.size)
            data = self._memory[half + _LENGTH.size : half + _LENGTH.size + size]
            if _SEQUENCE.unpack_from(self._memory, start)[0] == sequence:
                found: Content | None = json.loads(data)
                return found
        return None

    def read_all(self) -> list[Content]:
        """Return the contents of all slots."""
        return [content for slot in range(self._slots) if (content := self.read(slot))]

    def end(self, slot: int, add_up: Callable[[list[Content]], Content]) -> None:
        """Move the counts of an ended worker to slot 0; `add_up` sums them with those of earlier ones."""
        self.write(0, add_up([content for each in (0, slot) if (content := self.read(each))]))
        self.write(slot, {})


_counters: SharedCounters | None = None


def make(workers: int) -> SharedCounters:
    """Create the server's counters; called by the master of several workers before the first fork."""
    global _counters
    _counters = SharedCounters(workers)
    return _counters


def current() -> SharedCounters | None:
    """Return the server's counters; `None` if it is a single process."""
    return _counters
