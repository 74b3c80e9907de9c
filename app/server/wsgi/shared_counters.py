"""What every process of one server has counted, where all of them can read it: memory shared since before the fork.

    slot 0            what workers had counted that have ended: a counter never goes back
    slot 1, 2, ...    one for each worker: [sequence][half 0][half 1]

A worker writes the half that is not being read, and then the sequence, which says which half holds. Nobody waits for
anybody, and nothing is left behind by whoever is killed.
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

Content = dict[str, Any]


class SharedCounters:
    """Made by the master before it forks."""

    def __init__(self, workers: int) -> None:
        # While a worker that leaves drains, the one in its place runs already.
        self._slots = 2 * workers + 1
        self._memory = mmap.mmap(-1, self._slots * _SLOT_BYTES)
        self.mine: int | None = None
        """The slot of this process; `None` in the master."""

    def free_slot(self, taken: Iterable[int]) -> int:
        """A slot for a new worker; those of the living are `taken`."""
        used = set(taken)
        return next((slot for slot in range(1, self._slots) if slot not in used), self._slots - 1)

    def write(self, slot: int, content: Content) -> None:
        """Put up what a slot says; what does not fit is not put up, and what was there stays."""
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
        """What a slot says; `None` for nothing."""
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
        """What all slots say."""
        return [content for slot in range(self._slots) if (content := self.read(slot))]

    def end(self, slot: int, add_up: Callable[[list[Content]], Content]) -> None:
        """A worker has ended: `add_up` makes one of what it and those before it had counted."""
        self.write(0, add_up([content for each in (0, slot) if (content := self.read(each))]))
        self.write(slot, {})


_board: SharedCounters | None = None


def make(workers: int) -> SharedCounters:
    """Called by the master of several workers, before the first of them."""
    global _board
    _board = SharedCounters(workers)
    return _board


def current() -> SharedCounters | None:
    """The server's board; `None` where one process is all there is."""
    return _board
