"""Waiting for a moment to the tenth of a millisecond, under green threads too.

A green thread's `sleep` ends in `epoll_wait`, whose timeout is whole milliseconds: on average half a millisecond
late, which is as much as the whole delay that is measured on loopback. A timer that is a file descriptor
(timerfd_create(2)) wakes the same loop when it is really due.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import time

from app import clock
from app.serving import mode

_ABSOLUTE = 1  # TFD_TIMER_ABSTIME
_NONBLOCK_CLOEXEC = os.O_NONBLOCK | getattr(os, "O_CLOEXEC", 0)  # TFD_* have the values of O_*


class _Timespec(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


class _Itimerspec(ctypes.Structure):
    _fields_ = (("interval", _Timespec), ("value", _Timespec))


class Timer:
    """One waiter's timer. Use as a context manager, from one thread."""

    def __init__(self) -> None:
        self._fd: int | None = None
        self._libc: ctypes.CDLL | None = None

    def __enter__(self) -> Timer:
        if mode.current() == mode.EVENTLET:
            with contextlib.suppress(OSError, AttributeError):  # no timerfd here: sleep, and be later
                self._libc = ctypes.CDLL(None, use_errno=True)
                fd = self._libc.timerfd_create(time.CLOCK_MONOTONIC, _NONBLOCK_CLOEXEC)
                self._fd = fd if fd >= 0 else None
        return self

    def __exit__(self, *_exception: object) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def wait_until(self, due_us: int) -> None:
        """Return as soon as the server's time is `due_us`; at once when it has passed."""
        if self._fd is None or self._libc is None:
            self._sleep_until(due_us)
            return
        if due_us <= clock.now_us():
            return
        monotonic_us = due_us - clock.anchor_us()
        value = _Timespec(monotonic_us // 1_000_000, monotonic_us % 1_000_000 * 1000)
        spec = _Itimerspec(_Timespec(0, 0), value)
        if self._libc.timerfd_settime(self._fd, _ABSOLUTE, ctypes.byref(spec), None) != 0:
            self._sleep_until(due_us)
            return
        select.select([self._fd], [], [])
        with contextlib.suppress(BlockingIOError):
            os.read(self._fd, 8)

    @staticmethod
    def _sleep_until(due_us: int) -> None:
        while (left_us := due_us - clock.now_us()) > 0:
            time.sleep(left_us / 1_000_000)
