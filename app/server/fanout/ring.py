"""Many `send`s or `recv`s by one call of the kernel: io_uring(7), as far as a lot of them that do not wait needs it.

    descriptors -> `lay`: an entry of the submission queue for each
                -> `go`, as often as need be: io_uring_enter(2) for the next of them -> an entry of the completion queue each

A system call for each connection, with Python's way into it, is a tenth to a fifth of what a delivery costs. Each entry has
MSG_DONTWAIT, so the kernel is through with all of them, and with their bytes, when the call returns: what a socket does not
take or have is said as with `send` and `recv`, by a smaller number or EAGAIN, and nothing is left under way.

Structures and constants are those of linux/io_uring.h; the numbers of the calls are the same on all platforms of Linux that
Python supports. There is no lock: who calls has one.
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

LOT_MAX = 64
"""Descriptors by one call; a power of two. What the kernel keeps of each until all of a call are through stays in its caches."""

SEND, RECEIVE_MESSAGE = 26, 10
"""IORING_OP_SEND, IORING_OP_RECVMSG."""

_SYS_SETUP, _SYS_ENTER = 425, 426

_SUBMIT_ALL = 1 << 7
"""IORING_SETUP_SUBMIT_ALL: an entry that is refused does not hold back those behind it. Linux 5.18."""
_SINGLE_MMAP = 1 << 0
"""IORING_FEAT_SINGLE_MMAP: one mapping has both rings."""
_GETEVENTS = 1 << 0
"""IORING_ENTER_GETEVENTS."""
_OFFSET_OF_RINGS, _OFFSET_OF_ENTRIES = 0, 0x1000_0000
_FLAGS = 0x40 | 0x4000
"""MSG_DONTWAIT; and MSG_NOSIGNAL, since a peer that is gone is an answer here and no signal."""

_PARAMS = struct.Struct("=30I")
"""struct io_uring_params: ten numbers of its own, then ten on the places in each of the two rings."""
_FLAGS_AT, _FEATURES_AT, _SQ_AT, _CQ_AT = 2, 5, 10, 20

_ENTRY = struct.Struct("=BBHiQQIIQ24x")
"""struct io_uring_sqe: opcode, flags, ioprio, fd, off, addr, len, msg_flags, user_data, and what a send does not use."""

_DONE = struct.Struct("=QiI")
"""struct io_uring_cqe: user_data, res, flags."""
_DONE_BYTES = _DONE.size

_USUAL_MAX = 64
"""Answers whose pattern is remembered, 2 KB each: notifications have few lengths at a time."""

_U32 = 0xFFFF_FFFF


class Ring:
    """For lots of one operation, `SEND` or `RECEIVE_MESSAGE`.

    Raises `OSError` where there is none: not Linux, older than 5.18, switched off, or not for us (as in most containers).
    """

    __slots__ = (
        "_addresses", "_at", "_done_at", "_done_mask", "_enter", "_entries", "_fd", "_fds", "_numbers",
        "_results", "_rings", "_sizes", "_usual", "_whose", "first", "places",
    )  # fmt: skip

    def __init__(self, operation: int, places: int = LOT_MAX) -> None:
        """`places`: how many can be laid at a time, a power of two and `LOT_MAX` at least."""
        if sys.platform != "linux":
            raise OSError(errno.ENOSYS, "io_uring is Linux's")
        syscall = ctypes.CDLL(None, use_errno=True).syscall
        syscall.restype = ctypes.c_long
        self._enter: Callable[..., int] = syscall
        asked = [0] * 30
        asked[_FLAGS_AT] = _SUBMIT_ALL
        params = ctypes.create_string_buffer(_PARAMS.pack(*asked), _PARAMS.size)
        self._fd = self._enter(_SYS_SETUP, places, params)
        if self._fd < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        given = _PARAMS.unpack(params.raw)
        if not given[_FEATURES_AT] & _SINGLE_MMAP or given[0] != places:
            os.close(self._fd)
            raise OSError(errno.ENOSYS, "this io_uring is too old")
        self.places = places
        self._map(operation, done_max=given[1], sq=given[_SQ_AT:_CQ_AT], cq=given[_CQ_AT:])
        self._usual: dict[int, bytes] = {}
        self.first = 0
        """The place of the first descriptor that was laid last."""

    def _map(self, operation: int, *, done_max: int, sq: tuple[int, ...], cq: tuple[int, ...]) -> None:
        sq_head, sq_tail, _sq_mask, _, _, _, order = sq[:7]
        cq_head, cq_tail, _cq_mask, _, _, done = cq[:6]
        size = max(order + 4 * self.places, done + _DONE_BYTES * done_max)
        self._rings = mmap.mmap(self._fd, size, offset=_OFFSET_OF_RINGS)
        rings = memoryview(self._rings)
        self._entries = mmap.mmap(self._fd, _ENTRY.size * self.places, offset=_OFFSET_OF_ENTRIES)
        self._numbers = rings.cast("I")
        self._at = (sq_head // 4, sq_tail // 4, cq_head // 4, cq_tail // 4)
        """Of the heads and tails, in `_numbers`."""
        self._done_mask = done_max - 1
        for at in range(self.places):
            self._numbers[order // 4 + at] = at
            entry = (operation, 0, 0, -1, 0, 0, 0, _FLAGS, at % LOT_MAX)
            _ENTRY.pack_into(self._entries, at * _ENTRY.size, *entry)
        # The fields of all entries side by side, each a view with a stride.
        entries = memoryview(self._entries)
        self._fds = entries.cast("i")[1::16]
        self._addresses = entries.cast("Q")[2::8]
        self._sizes = entries.cast("I")[6::16]
        self._done_at = done
        answers = rings[done : done + _DONE_BYTES * done_max]
        self._results = answers.cast("i")[2::4]
        self._whose = answers.cast("Q")[::2]

    def point(self, addresses: array[int], sizes: array[int]) -> None:
        """Where the bytes of each place are, from now on, and how many, or the `struct msghdr` that says it, and 1.

        Of types `Q` and `I`, as many of each as there are places.

        Whoever calls keeps that memory, and keeps it where it is.
        """
        self._addresses[:] = addresses
        self._sizes[:] = sizes

    def lay(self, fds: array[int], sizes: array[int] | None = None) -> None:
        """`fds`, of type `i`, to go next, and nothing that was laid before; not more than there are places.

        They have the places from `first` on, and behind the last place the first one. `sizes`: as in `point`, of theirs.
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

    def go(self, count: int, expected: int) -> list[int] | None:
        """How many bytes each of the next `count` took or gave, or its error's number, negative; in their order.

        `count`: `LOT_MAX` at most. Fewer answers when the kernel took no more of them, as it may when it is short of memory:
        with the rest nothing was done, and they must be laid again. `None`: all answered `expected`, mostly what they do; it
        is seen by one comparison.
        """
        sq_head, sq_tail, cq_head, cq_tail = self._at
        numbers, wanted = self._numbers, count
        tail = numbers[sq_tail]
        at = tail % LOT_MAX
        numbers[sq_tail] = (tail + count) & _U32
        if self._enter(_SYS_ENTER, self._fd, count, count, _GETEVENTS, None, 0) != count:
            count = (numbers[sq_head] - tail) & _U32
            numbers[sq_tail] = numbers[sq_head]  # What it did not take must not go with the next.
        begin = numbers[cq_head]
        while (numbers[cq_tail] - begin) & _U32 < count:  # A signal came amid it.
            self._enter(_SYS_ENTER, self._fd, 0, count, _GETEVENTS, None, 0)
        first = begin & self._done_mask
        numbers[cq_head] = (begin + count) & _U32  # Nothing comes into their places before the next call.
        if count == wanted:
            usual = self._usual.get(expected) or self._with_all(expected)
            if self._answers(first, count) == usual[at * _DONE_BYTES : (at + count) * _DONE_BYTES]:
                return None
        results = [0] * count
        for each in range(first, first + count):  # The kernel promises no order.
            place = each & self._done_mask
            results[(self._whose[place] - at) % LOT_MAX] = self._results[place]
        return results

    def do(self, fds: array[int], expected: int) -> list[int] | None:
        """Both for a lot."""
        self.lay(fds)
        return self.go(len(fds), expected)

    def _answers(self, first: int, count: int) -> bytes:
        """As many of the completion queue from `first` on, as they came."""
        begin, over = self._done_at + first * _DONE_BYTES, first + count - self._done_mask - 1
        if over <= 0:
            return self._rings[begin : begin + count * _DONE_BYTES]
        last = begin + (count - over) * _DONE_BYTES
        return self._rings[begin:last] + self._rings[self._done_at : self._done_at + over * _DONE_BYTES]

    def _with_all(self, expected: int) -> bytes:
        """What the completion queue holds when all places, twice around, have answered `expected` in order."""
        if len(self._usual) >= _USUAL_MAX:
            self._usual.clear()
        answers = (_DONE.pack(place % LOT_MAX, expected, 0) for place in range(2 * LOT_MAX))
        self._usual[expected] = b"".join(answers)
        return self._usual[expected]

    def close(self) -> None:
        """Give the descriptor back; the memory goes with the object."""
        os.close(self._fd)
