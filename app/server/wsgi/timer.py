"""A timer that wakes within a tenth of a millisecond, under green threads too.

A green thread's `sleep` ends in `epoll_wait`, whose timeout is in whole milliseconds. It is late by half a
millisecond on average, which is as much as the whole delay measured on loopback.
"""

from __future__ import annotations

import select
import time

from app import clock
from app.core.units import ServerUs
from app.server.wsgi import mode
from app.server.wsgi.timerfd import TimerFd


class Timer:
    """The timer of one waiting thread. Use it as a context manager, from one thread."""

    def __init__(self) -> None:
        self._timer: TimerFd | None = None

    def __enter__(self) -> Timer:
        if mode.current() != mode.THREADS:
            try:
                self._timer = TimerFd()
            except OSError:
                self._timer = None  # Unavailable here: `sleep` is less precise.
        return self

    def __exit__(self, *_exception: object) -> None:
        if self._timer is not None:
            self._timer.close()

    def wait_until(self, due_us: ServerUs) -> None:
        """Return when the server's time is `due_us`; if it has passed, after other threads have run.

        A source that is late and never yields would hold back every notification that it publishes, and all other
        clients of the server (design, trap 13).
        """
        if due_us <= clock.now_us():
            time.sleep(0)
            return
        if self._timer is None:
            _sleep_until(due_us)
            return
        self._timer.set((due_us - clock.anchor_us()) * 1000)
        select.select([self._timer.fd], [], [])
        self._timer.read()


def _sleep_until(due_us: ServerUs) -> None:
    while (left_us := due_us - clock.now_us()) > 0:
        time.sleep(left_us / 1_000_000)
