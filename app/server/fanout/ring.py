"""A minimal io_uring(7): sends or receives on a batch of sockets in one system call, without blocking.

    descriptors -> `prepare`: one entry each in the submission queue
                -> `submit`, repeatedly: io_uring_enter(2) for the next batch -> one entry each in the completion queue

One system call per connection, with Python's overhead, is a tenth to a fifth of the cost of a delivery. Each entry
has MSG_DONTWAIT, so all operations are complete when the call returns, and their buffers are free again. A socket
that takes or has less reports it as `send` and `recv` do, by a smaller number or EAGAIN.

Structures and constants are those of linux/io_uring.h; the system call numbers are the same on all Linux platforms
that Python supports. There is no lock: the caller holds one.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import struct
import sys
from array import array
from collections.abc import Callable

BATCH_MAX = 64
"""Operations per system call, a power of two. The kernel's state of this many operations fits into the CPU's caches."""

SEND, RECEIVE_MESSAGE = 26, 10
"""IORING_OP_SEND, IORING_OP_RECVMSG."""

_SYS_SETUP, _SYS_ENTER = 425, 426

_SUBMIT_ALL = 1 << 7
"""IORING_SETUP_SUBMIT_ALL: entries after a refused one are still submitted. Linux 5.18."""
_SINGLE_MMAP = 1 << 0
"""IORING_FEAT_SINGLE_MMAP: one mapping holds both rings."""
_GETEVENTS = 1 << 0
"""IORING_ENTER_GETEVENTS."""
_OFFSET_OF_RINGS, _OFFSET_OF_ENTRIES = 0, 0x1000_0000
_FLAGS = 0x40 | 0x4000
"""MSG_DONTWAIT and MSG_NOSIGNAL: a peer that is gone causes an error number, not a signal."""

_PARAMS = struct.Struct("=30I")
"""struct io_uring_params: ten numbers of its own, then ten offsets for each of the two rings."""
_FLAGS_AT, _FEATURES_AT, _SQ_AT, _CQ_AT = 2, 5, 10, 20

_ENTRY = struct.Struct("=BBHiQQIIQ24x")
"""struct io_uring_sqe: opcode, flags, ioprio, fd, off, addr, len, msg_flags, user_data, and unused fields."""

_DONE = struct.Struct("=QiI")
"""struct io_uring_cqe: user_data, res, flags."""
_DONE_BYTES = _DONE.size

_PATTERNS_MAX = 64
"""Completion patterns that are cached, 2 KB each: notifications have few lengths at a time."""

_U32 = 0xFFFF_FFFF


class Ring:
    """A ring for one kind of operation, `SEND` or `RECEIVE_MESSAGE`.

    Raises `OSError` where io_uring is unavailable: no Linux, older than 5.18, disabled, or forbidden (most
    containers).
    """

    __slots__ = (
        "_addresses", "_at", "_done_at", "_done_mask", "_enter", "_entries", "_fd", "_fds", "_numbers",
        "_patterns", "_results", "_rings", "_sizes", "_whose", "first", "places",
    )  # fmt: skip

    def __init__(self, operation: int, places: int = BATCH_MAX) -> None:
        """`places`: capacity of the submission queue, a power of two and `BATCH_MAX` at least."""
        if sys.platform != "linux":
            raise OSError(errno.ENOSYS, "io_uring is Linux's")
        syscall = ctypes.CDLL(None, use_errno=True).syscall
        syscall.restype = ctypes.c_long
        self._enter: Callable[..., int] = syscall
        request = [0] * 30
        request[_FLAGS_AT] = _SUBMIT_ALL
        params = ctypes.create_string_buffer(_PARAMS.pack(*request), _PARAMS.size)
        self._fd = self._enter(_SYS_SETUP, places, params)
        if self._fd < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        reply = _PARAMS.unpack(params.raw)
        if not reply[_FEATURES_AT] & _SINGLE_MMAP or reply[0] != places:
            os.close(self._fd)
            raise OSError(errno.ENOSYS, "this io_uring is too old")
        self.places = places
        self._map(operation, done_max=reply[1], sq=reply[_SQ_AT:_CQ_AT], cq=reply[_CQ_AT:])
        self._patterns: dict[int, bytes] = {}
        self.first = 0
        """Place of the first descriptor of the latest `prepare`."""

    def _map(self, operation: int, *, done_max: int, sq: tuple[int, ...], cq: tuple[int, ...]) -> None:
        sq_head, sq_tail, _sq_mask, _, _, _, order = sq[:7]
        cq_head, cq_tail, _cq_mask, _, _, done = cq[:6]
        size = max(order + 4 * self.places, done + _DONE_BYTES * done_max)
        self._rings = mmap.mmap(self._fd, size, offset=_OFFSET_OF_RINGS)
        rings = memoryview(self._rings)
        self._entries = mmap.mmap(self._fd, _ENTRY.size * self.places, offset=_OFFSET_OF_ENTRIES)
        self._numbers = rings.cast("I")
        self._at = (sq_head // 4, sq_tail // 4, cq_head // 4, cq_tail // 4)
        """Indices of the heads and tails in `_numbers`."""
        self._done_mask = done_max - 1
        for at in range(self.places):
            self._numbers[order // 4 + at] = at
            entry = (operation, 0, 0, -1, 0, 0, 0, _FLAGS, at % BATCH_MAX)
            _ENTRY.pack_into(self._entries, at * _ENTRY.size, *entry)
        # One field of all entries, each a view with a stride.
        entries = memoryview(self._entries)
        self._fds = entries.cast("i")[1::16]
        self._addresses = entries.cast("Q")[2::8]
        self._sizes = entries.cast("I")[6::16]
        self._done_at = done
        completions = rings[done : done + _DONE_BYTES * done_max]
        self._results = completions.cast("i")[2::4]
        self._whose = completions.cast("Q")[::2]

    def set_buffers(self, addresses: array[int], sizes: array[int]) -> None:
        """Set the buffer address and size of every place, or the address of a `struct msghdr` and 1.

        The arrays are of types `Q` and `I`, with one element per place.
        The caller keeps that memory alive and at its address.
        """
        self._addresses[:] = addresses
        self._sizes[:] = sizes

    def prepare(self, fds: array[int], sizes: array[int] | None = None) -> None:
        """Put `fds` (type `i`), at most as many as there are places, into the submission queue and nothing else.

        They get the places from `first` on, wrapping around. `sizes` are as in `set_buffers`, one for each of `fds`.
        """
        self.first = at = self._numbers[self._at[1]] % self.places
        count, before_end = len(fds), self.places - at
        self._fds[at : at + count] = fds[:before_end]
        if sizes is not None:
            self._sizes[at : at + count] = sizes[:before_end]
        if count > before_end:
            self._fds[: count - before_end] = fds[before_end:]
            if sizes is not None:
                self._sizes[: count - before_end] = sizes[before_end:]

    def submit(self, count: int, expected: int) -> list[int] | None:
        """Submit the next `count` entries, `BATCH_MAX` at most; return each one's byte count or negative errno, in order.

        The list is shorter where the kernel took fewer entries, as it may when it is short of memory. The others were
        not executed and must be prepared again. `None`: each result is `expected`, the usual case, found by one
        comparison.
        """
        sq_head, sq_tail, cq_head, cq_tail = self._at
        numbers, wanted = self._numbers, count
        tail = numbers[sq_tail]
        at = tail % BATCH_MAX
        numbers[sq_tail] = (tail + count) & _U32
        if self._enter(_SYS_ENTER, self._fd, count, count, _GETEVENTS, None, 0) != count:
            count = (numbers[sq_head] - tail) & _U32
            numbers[sq_tail] = numbers[
                sq_head
            ]  # Entries that it did not take must not go with the next batch.
        begin = numbers[cq_head]
        while (numbers[cq_tail] - begin) & _U32 < count:  # A signal interrupted the wait.
            self._enter(_SYS_ENTER, self._fd, 0, count, _GETEVENTS, None, 0)
        first = begin & self._done_mask
        numbers[cq_head] = (begin + count) & _U32  # The kernel overwrites nothing before the next call.
        if count == wanted:
            pattern = self._patterns.get(expected) or self._pattern_of(expected)
            if self._completions(first, count) == pattern[at * _DONE_BYTES : (at + count) * _DONE_BYTES]:
                return None
        results = [0] * count
        for each in range(first, first + count):  # The kernel guarantees no order.
            place = each & self._done_mask
            results[(self._whose[place] - at) % BATCH_MAX] = self._results[place]
        return results

    def prepare_and_submit(self, fds: array[int], expected: int) -> list[int] | None:
        """Prepare and submit one batch."""
        self.prepare(fds)
        return self.submit(len(fds), expected)

    def _completions(self, first: int, count: int) -> bytes:
        """Return the bytes of `count` entries of the completion queue from index `first` on."""
        begin, over = self._done_at + first * _DONE_BYTES, first + count - self._done_mask - 1
        if over <= 0:
            return self._rings[begin : begin + count * _DONE_BYTES]
        last = begin + (count - over) * _DONE_BYTES
        return self._rings[begin:last] + self._rings[self._done_at : self._done_at + over * _DONE_BYTES]

    def _pattern_of(self, expected: int) -> bytes:
        """Return the queue's bytes if all places, in two rounds, complete in order with the result `expected`."""
        if len(self._patterns) >= _PATTERNS_MAX:
            self._patterns.clear()
        completions = (_DONE.pack(place % BATCH_MAX, expected, 0) for place in range(2 * BATCH_MAX))
        self._patterns[expected] = b"".join(completions)
        return self._patterns[expected]

    def close(self) -> None:
        """Close the descriptor; the memory is freed with the object."""
        os.close(self._fd)
