"""A stress test of batched writes and reads: every byte of every connection is at its place.

Signals while the kernel works, calls that take a part of a batch or none, that do not wait for the answers, full buffers, peers
that reset, descriptors that are closed amid a batch and given to somebody else. All connections are sent one stream, in which
each four bytes tell where they stand.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import random
import signal
import socket
import struct
from array import array
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache
from typing import Any

import pytest

from app.server.fanout.batch_sender import SENDS_MAX
from app.server.fanout.ring import BATCH_MAX, RECEIVE_MESSAGE, SEND, Ring
from app.tools.bench.messages import Messages
from tests.support.kernel_ring import needs_ring

pytestmark = needs_ring


@cache
def stream() -> bytes:
    """Sixteen megabytes, each four of which tell where they stand; made when first asked for."""
    return array("I", range(1 << 22)).tobytes()


CONNECTIONS = 3 * BATCH_MAX
FRAME_BYTES, FRAMES_MAX = 1_000, 4
"""A write ends where a frame does, or many would never stand at one place."""
READ_BYTES = 2_000
SIGNAL_S = 0.000_2
"""Between two: about what a batch takes."""

RESET = struct.pack("ii", 1, 0)
"""SO_LINGER: a close is a reset."""


class Pair:
    """A connection: our end, which is written to, and its peer's, which reads."""

    def __init__(self, listener: socket.socket, stands_at: int) -> None:
        self.ours = socket.socket()
        self.ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8_192)
        self.ours.connect(listener.getsockname())
        self.theirs, _address = listener.accept()
        for sock in (self.ours, self.theirs):
            sock.setblocking(False)
        self.stands_at = self.reached = stands_at
        """Bytes that the kernel took, and bytes that arrived."""

    @property
    def fd(self) -> int:
        return self.ours.fileno()

    def close(self) -> None:
        self.ours.close()
        self.theirs.close()


class Kernel:
    """In front of a ring's system call: now and then it is short of memory, or does not wait."""

    def __init__(self, ring: Ring, choice: random.Random) -> None:
        self.counts: Counter[str] = Counter()
        self._call, self._choice = ring._enter, choice
        ring._enter = self

    def __call__(self, number: int, fd: int, submitted: int, wanted: int, flags: int, *rest: Any) -> int:
        what = self._choice.choices(["whole", "part", "nothing", "no wait"], [80, 8, 4, 8])[0]
        if submitted == 0 or (what == "part" and submitted == 1):
            what = "whole"
        self.counts[what] += 1
        if what == "nothing":
            ctypes.set_errno(errno.EAGAIN)
            return -1
        if what == "part":
            submitted = wanted = self._choice.randrange(1, submitted)
        elif what == "no wait":
            wanted = flags = 0
        return int(self._call(number, fd, submitted, wanted, flags, *rest))


class Stress:
    """The connections, a ring that writes to them and one that reads from them."""

    def __init__(self, seed: int, sends: Ring, receives: Ring, listener: socket.socket) -> None:
        self.choice = random.Random(seed)
        self.sends, self.receives, self.listener = sends, receives, listener
        self.kernels = [Kernel(ring, self.choice) for ring in (sends, receives)]
        self.room = mmap.mmap(-1, FRAMES_MAX * FRAME_BYTES)
        address = ctypes.addressof(ctypes.c_char.from_buffer(self.room))
        sends.set_buffers(array("Q", [address]) * sends.places, array("I", [0]) * sends.places)
        self.messages = Messages(READ_BYTES)
        receives.set_buffers(self.messages.addresses, array("I", [1]) * BATCH_MAX)
        self.pairs = [Pair(listener, 0) for _ in range(CONNECTIONS)]
        self.counts: Counter[str] = Counter()

    def write(self) -> None:
        """Write the next bytes to connections with an equal cursor, in batches of several sizes, perhaps not to all of them."""
        cursor = self.choice.choice(self.pairs).stands_at
        row = [pair for pair in self.pairs if pair.stands_at == cursor]
        self.choice.shuffle(row)
        data = stream()[cursor : (cursor // FRAME_BYTES + self.choice.randrange(1, FRAMES_MAX)) * FRAME_BYTES]
        self.room[: len(data)] = data
        self.sends.prepare(array("i", [pair.fd for pair in row]), array("I", [len(data)]) * len(row))
        at = 0
        while at < len(row):
            batch = row[at : at + self.choice.randrange(1, BATCH_MAX + 1)]
            if self.choice.random() < 0.2:
                self._change_hands(batch, self.choice.randrange(len(batch)))
            results = self.sends.submit(len(batch), len(data))
            self._is_through(self.sends)
            results = [len(data)] * len(batch) if results is None else results
            for pair, result in zip(batch, results, strict=False):
                self._wrote(pair, result)
            while len(self.pairs) < CONNECTIONS:
                self._come(0)
            if len(results) < len(batch) or self.choice.random() < 0.1:
                return
            at += len(batch)

    def _change_hands(self, batch: list[Pair], index: int) -> None:
        """Close one connection of a prepared batch; its descriptor is unused, or that of another connection at the same cursor."""
        old = batch[index]
        self.pairs.remove(old)
        if self.choice.random() < 0.5:
            self.counts["descriptor closed"] += 1
            old.close()
            return
        self.counts["descriptor reused"] += 1
        batch[index] = new = self._come(old.stands_at)
        fd = old.ours.detach()
        os.dup2(new.fd, fd)
        new.ours.close()
        new.ours = socket.socket(fileno=fd)
        old.close()

    def _wrote(self, pair: Pair, result: int) -> None:
        if result > 0:
            pair.stands_at += result
        elif result == -errno.EAGAIN:
            self.counts["full"] += 1
        else:
            assert result == -errno.EBADF, result
            assert pair not in self.pairs

    def read(self) -> None:
        readers = self.pairs[: len(self.pairs) // self.choice.choice([1, 2, 2, 2])]  # The others are slow.
        batch = self.choice.sample(readers, self.choice.randrange(1, BATCH_MAX + 1))
        self.messages.forget()
        results = self.receives.prepare_and_submit(
            array("i", [pair.theirs.fileno() for pair in batch]), READ_BYTES
        )
        self._is_through(self.receives)
        results = [READ_BYTES] * len(batch) if results is None else results
        for index, (pair, result) in enumerate(zip(batch, results, strict=False)):
            begin = (self.receives.first + index) % BATCH_MAX * READ_BYTES
            if result > 0:
                data = self.messages.data[begin : begin + result]
                assert data == stream()[pair.reached : pair.reached + result]
                pair.reached += result
            else:
                assert result == -errno.EAGAIN, result
                self.counts["nothing"] += 1
            assert pair.reached <= pair.stands_at

    def reset(self) -> None:
        """A peer goes without a goodbye; it is noticed by writing."""
        pair = self.choice.choice(self.pairs)
        pair.theirs.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        pair.theirs.close()
        pair.theirs = socket.socket()
        self.pairs.remove(pair)
        self.sends.prepare(array("i", [pair.fd]), array("I", [1]))
        result = self.sends.submit(1, 1)
        assert result == [] or (result or [1])[0] in (-errno.EPIPE, -errno.ECONNRESET)
        self.counts["reset"] += 1
        pair.close()
        self._come(0)

    def _come(self, stands_at: int) -> Pair:
        self.pairs.append(Pair(self.listener, stands_at))
        return self.pairs[-1]

    def finish(self) -> None:
        """Check that every byte that was taken arrives."""
        for _ in range(10_000):
            if all(pair.reached == pair.stands_at for pair in self.pairs):
                return
            self.read()
        raise AssertionError("something was taken and has not arrived")

    def close(self) -> None:
        for pair in self.pairs:
            pair.close()

    @staticmethod
    def _is_through(ring: Ring) -> None:
        """Nothing is left in its queues: neither an entry that the next call would submit, nor an answer it would take."""
        sq_head, sq_tail, cq_head, cq_tail = (ring._numbers[at] for at in ring._at)
        assert (sq_head, cq_head) == (sq_tail, cq_tail)


@contextmanager
def signals() -> Iterator[list[int]]:
    """SIGALRM again and again; how many came."""
    count = [0]

    def handle(_signal: int, _frame: object) -> None:
        count[0] += 1

    before = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, SIGNAL_S, SIGNAL_S)
    try:
        yield count
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("steps", [1_500, pytest.param(20_000, marks=pytest.mark.slow)])
def test_every_byte_is_at_its_place_under_signals_short_calls_and_descriptors_that_change_hands(
    steps: int,
) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        closing(Ring(SEND, SENDS_MAX)) as sends,
        closing(Ring(RECEIVE_MESSAGE)) as receives,
        closing(Stress(steps, sends, receives, listener)) as stress,
        signals() as count,
    ):
        for _ in range(steps):
            what = stress.choice.choices([stress.write, stress.read, stress.reset], [50, 48, 2])[0]
            what()
        stress.finish()

    assert count[0] > steps // 100
    for kernel in stress.kernels:
        assert all(kernel.counts[what] for what in ("whole", "part", "nothing", "no wait")), kernel.counts
    assert all(
        stress.counts[what] for what in ("full", "nothing", "reset", "descriptor reused", "descriptor closed")
    ), stress.counts
