"""How late a loop comes to a ready descriptor: a timer of the kernel, read like a socket.

`select` waits in whole milliseconds, too coarse to judge an instrument that stamps in microseconds. A timerfd becomes
readable on a fixed schedule; reading it tells how long ago it should have been read.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time

PERIOD_US = 7_300
"""About 137 a second, and no multiple or part of a usual notification rate: it must not always fall beside one."""

_CLOCK_MONOTONIC = 1
_TFD_NONBLOCK_CLOEXEC = os.O_NONBLOCK | getattr(os, "O_CLOEXEC", 0)
_TFD_TIMER_ABSTIME = 1


class _TimeSpec(ctypes.Structure):
    _fields_ = [("s", ctypes.c_long), ("ns", ctypes.c_long)]


class _TimerSpec(ctypes.Structure):
    _fields_ = [("interval", _TimeSpec), ("value", _TimeSpec)]


class Ticker:
    """A timer on a fixed schedule. Raises `OSError` where the platform has no timerfd."""

    def __init__(self, period_us: int = PERIOD_US) -> None:
        if sys.platform != "linux":
            raise OSError("this platform has no timerfd")
        library = ctypes.CDLL(None, use_errno=True)
        self.fd: int = library.timerfd_create(_CLOCK_MONOTONIC, _TFD_NONBLOCK_CLOEXEC)
        if self.fd < 0:
            raise OSError(ctypes.get_errno(), "timerfd_create")
        self._period_ns = period_us * 1000
        self._next_ns = time.monotonic_ns() + self._period_ns
        interval = _TimeSpec(0, self._period_ns)
        first = _TimeSpec(*divmod(self._next_ns, 1_000_000_000))
        spec = _TimerSpec(interval, first)
        if library.timerfd_settime(self.fd, _TFD_TIMER_ABSTIME, ctypes.byref(spec), None) < 0:
            raise OSError(ctypes.get_errno(), "timerfd_settime")

    def lag_us(self) -> float | None:
        """How long the oldest tick has waited to be read; `None` when there is none."""
        now_ns = time.monotonic_ns()
        try:
            count = int.from_bytes(os.read(self.fd, 8), sys.byteorder)
        except BlockingIOError:
            return None
        lag_us = (now_ns - self._next_ns) / 1000
        self._next_ns += count * self._period_ns
        return max(0.0, lag_us)
