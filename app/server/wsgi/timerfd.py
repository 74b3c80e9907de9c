"""The kernel's timer as a file descriptor (timerfd_create(2)), which wakes a loop precisely to the microsecond.

`select` and `epoll_wait` wait in whole milliseconds, which is too coarse for a source and for an instrument with
timestamps in microseconds. Python has these calls since 3.13; until that is the oldest supported version, ctypes is
used.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time

_ABSOLUTE = 1  # TFD_TIMER_ABSTIME
_NONBLOCK_CLOEXEC = os.O_NONBLOCK | getattr(os, "O_CLOEXEC", 0)  # TFD_* have the values of O_*


class _Timespec(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


class _Itimerspec(ctypes.Structure):
    _fields_ = (("interval", _Timespec), ("value", _Timespec))


class TimerFd:
    """A timer on CLOCK_MONOTONIC, initially not set. Raises `OSError` on platforms without timerfd."""

    def __init__(self) -> None:
        if sys.platform != "linux":
            raise OSError("this platform has no timerfd")
        self._libc = ctypes.CDLL(None, use_errno=True)
        self.fd: int = self._libc.timerfd_create(time.CLOCK_MONOTONIC, _NONBLOCK_CLOEXEC)
        if self.fd < 0:
            raise OSError(ctypes.get_errno(), "timerfd_create")

    def set(self, at_ns: int, *, period_ns: int = 0) -> None:
        """Become readable at `at_ns`, and then every `period_ns` unless that is 0. Raises `OSError`."""
        spec = _Itimerspec(
            _Timespec(*divmod(period_ns, 1_000_000_000)), _Timespec(*divmod(at_ns, 1_000_000_000))
        )
        if self._libc.timerfd_settime(self.fd, _ABSOLUTE, ctypes.byref(spec), None) < 0:
            raise OSError(ctypes.get_errno(), "timerfd_settime")

    def read(self) -> int:
        """Return how often it was due since the last read; 0 if it was not."""
        try:
            return int.from_bytes(os.read(self.fd, 8), sys.byteorder)
        except BlockingIOError:
            return 0

    def close(self) -> None:
        """Close the descriptor."""
        os.close(self.fd)
