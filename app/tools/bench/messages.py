"""Buffers for a batch of recvmsg(2) with kernel timestamps: `struct msghdr`, initialised once.

    a header -> an iovec -> room for bytes
             -> room for a control message: length, level, type, seconds, nanoseconds

All structures are contiguous, so that a batch's fields are set and read by slices. The layout is that of 64-bit
systems.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import struct
import sys
from array import array

from app.core.kernel_stamps import ROOM_BYTES
from app.server.fanout.ring import BATCH_MAX

_HEADER = struct.Struct("=QQQQQQQ")
"""name, namelen, iov, iovlen, control, controllen, flags."""
_CONTROL_LENGTH_AT = 5
_IOVEC = struct.Struct("=QQ")
_SECONDS_AT, _NANOSECONDS_AT = 2, 3
"""Positions in a control message, in units of eight bytes."""

_ROOMS = array("q", [ROOM_BYTES]) * BATCH_MAX
_NONE = array("q", [0]) * BATCH_MAX


class Messages:
    """Buffers for as many reads as a ring has places, `bytes_max` each. Raises `OSError` on 32-bit systems."""

    def __init__(self, bytes_max: int) -> None:
        if sys.maxsize < 2**32:
            raise OSError(errno.ENOSYS, "these structures are those of 64 bits")
        self.bytes_max = bytes_max
        self.data = mmap.mmap(-1, BATCH_MAX * bytes_max)
        iovecs_at = BATCH_MAX * _HEADER.size
        controls_at = iovecs_at + BATCH_MAX * _IOVEC.size
        self._memory = mmap.mmap(-1, controls_at + BATCH_MAX * ROOM_BYTES)
        data, memory = _address(self.data), _address(self._memory)
        for place in range(BATCH_MAX):
            iovec = iovecs_at + place * _IOVEC.size
            control = controls_at + place * ROOM_BYTES
            header = (0, 0, memory + iovec, 1, memory + control, ROOM_BYTES, 0)
            _HEADER.pack_into(self._memory, place * _HEADER.size, *header)
            _IOVEC.pack_into(self._memory, iovec, data + place * bytes_max, bytes_max)
        self.addresses = array("Q", range(memory, memory + iovecs_at, _HEADER.size))
        """Addresses of the headers."""
        numbers = memoryview(self._memory).cast("q")
        self._rooms = numbers[: iovecs_at // 8][_CONTROL_LENGTH_AT :: _HEADER.size // 8]
        controls = numbers[controls_at // 8 :]
        self._seconds = controls[_SECONDS_AT :: ROOM_BYTES // 8]
        self._nanoseconds = controls[_NANOSECONDS_AT :: ROOM_BYTES // 8]

    def forget(self) -> None:
        """Reset lengths and stamps before a batch: the kernel writes them only for reads that have a stamp."""
        self._rooms[:] = _ROOMS
        self._seconds[:] = _NONE

    def stamps(self, first: int, count: int) -> tuple[list[int], list[int]]:
        """Return CLOCK_REALTIME of `count` places from `first`: seconds (0 without a stamp), and nanoseconds.

        Places wrap around after the last.
        """
        end, around = first + count, max(0, first + count - BATCH_MAX)
        seconds, nanoseconds = self._seconds, self._nanoseconds
        return (
            seconds[first:end].tolist() + seconds[:around].tolist(),
            nanoseconds[first:end].tolist() + nanoseconds[:around].tolist(),
        )


def _address(of: mmap.mmap) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(of))
