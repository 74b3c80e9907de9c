"""The readiness loop of all detached connections: one epoll and one thread, no green thread per connection.

    kernel -> epoll -> `on_events` of the watched object
    timers: a few callbacks that each return when they want to be called again

The thread is green where threads are: it waits in the patched `select` for the epoll's own descriptor, so neither
eventlet nor gevent keeps state per connection. Callbacks must not block.
"""

from __future__ import annotations

import heapq
import itertools
import logging
import os
import select
import threading
import time
from collections.abc import Callable
from typing import Any, Protocol

from app import clock
from app.server.wsgi import epoll, mode

logger = logging.getLogger("siar.loop")

EVENTS_MAX = 16
"""Events per epoll_wait: the kernel returns the longest waiting ones first."""

SLICE_US = 1_000
"""Time limit of handling events before other threads run. A connection with a hundred tiny frames may use it up
alone, so the clock is read after each; events that are left are handled first in the next slice."""

WAIT_MAX_US = 60_000_000
"""Longest wait with nothing due. An earlier timer wakes the loop up; each idle wakeup runs with cold CPU caches."""

RETRY_US = 1_000_000
"""Delay before a timer that raised is called again: it may still be needed, and must not flood the log."""

Timer = Callable[[int], int | None]
"""Takes the current time and returns when it wants to be called next, both monotonic in microseconds.

`None`: never again. A timer that raises is called again after `RETRY_US`.
"""


class Watched(Protocol):
    """An object that handles readiness of its descriptor."""

    def on_events(self, events: int) -> None:
        """Handle `epoll.IN` and other events. Must not block."""
        ...


class Loop:
    """The epoll and its thread, which starts with the first descriptor. All methods may be called from any thread."""

    def __init__(self) -> None:
        self._epoll = epoll.make()
        self._watched: list[Watched | None] = []
        """By descriptor; the kernel keeps those small and dense."""
        self._timers: list[tuple[int, int, Timer]] = []
        self._timer_ids = itertools.count()
        self._unhandled: list[tuple[int, int]] = []
        """Events of the last poll for which the slice had no time."""
        self._lock = threading.Lock()
        self._wakeup_fd = -1
        self._sleeps_until_us = 0
        self._started = False

    @property
    def is_possible(self) -> bool:
        """True if this platform has epoll and eventfd."""
        return self._epoll is not None and hasattr(os, "eventfd")

    def watch(self, fd: int, watched: Watched, *, read: bool = True) -> None:
        """Call `watched.on_events` when the peer closes and, if `read`, when bytes arrive."""
        self._start()
        while len(self._watched) <= fd:
            self._watched.append(None)
        self._watched[fd] = watched
        self._poll.register(fd, epoll.PEER_CLOSED | (epoll.IN if read else 0))

    def want(self, fd: int, *, read: bool, write: bool) -> None:
        """Change which events are reported in addition to the peer's end.

        Bytes that are not read stay in the kernel and, when its buffer is full, with the peer.
        """
        self._poll.modify(fd, epoll.PEER_CLOSED | (epoll.IN if read else 0) | (epoll.OUT if write else 0))

    def forget(self, fd: int) -> None:
        """Stop watching. Must precede the closing of `fd`."""
        self._watched[fd] = None
        try:
            self._poll.unregister(fd)
        except OSError:  # It was not registered, or is closed.
            logger.debug("Descriptor %d was not watched.", fd)

    def call_at(self, due_us: int, timer: Timer) -> None:
        """Call `timer` at `due_us`, and then whenever it returns a time."""
        self._start()
        with self._lock:
            heapq.heappush(self._timers, (due_us, next(self._timer_ids), timer))
            wake = due_us < self._sleeps_until_us
        if wake:
            os.eventfd_write(self._wakeup_fd, 1)

    def call_once(self, after_us: int, function: Callable[[], None]) -> None:
        """Call `function` once after a delay, whether it succeeds or not."""

        def timer(now_us: int) -> None:
            self._call(lambda _now_us: function(), now_us)

        self.call_at(clock.monotonic_us() + after_us, timer)

    @property
    def _poll(self) -> Any:
        assert self._epoll is not None
        return self._epoll

    def _start(self) -> None:
        with self._lock:
            if self._started:
                return
            self._started = True
        self._wakeup_fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._poll.register(self._wakeup_fd, epoll.IN)
        threading.Thread(target=self._run, name="siar-loop", daemon=True).start()

    def _run(self) -> None:
        while True:
            ready = self._unhandled or self._wait()
            until_us = clock.monotonic_us() + SLICE_US
            self._unhandled = self._handle(ready, until_us)
            while len(ready) == EVENTS_MAX and not self._unhandled and clock.monotonic_us() < until_us:
                ready = self._poll.poll(0, EVENTS_MAX)
                self._unhandled = self._handle(ready, until_us)
            self._run_timers()
            time.sleep(0)  # Other threads run.

    def _handle(self, ready: list[tuple[int, int]], until_us: int) -> list[tuple[int, int]]:
        """Call the watched objects; return the events that the slice had no time for."""
        for number, (fd, events) in enumerate(ready, start=1):
            if fd == self._wakeup_fd:
                os.eventfd_read(self._wakeup_fd)
            elif (watched := self._watched[fd]) is not None:
                self._call(watched.on_events, events)
            if clock.monotonic_us() >= until_us:
                return ready[number:]
        return []

    def _wait(self) -> list[tuple[int, int]]:
        now_us = clock.monotonic_us()
        with self._lock:
            due_us = min(now_us + WAIT_MAX_US, self._timers[0][0] if self._timers else now_us + WAIT_MAX_US)
            self._sleeps_until_us = due_us
        timeout_s = max(0, due_us - now_us) / 1e6
        if mode.current() == mode.THREADS:
            return self._poll.poll(timeout_s, EVENTS_MAX)  # type: ignore[no-any-return]
        ready: list[tuple[int, int]] = self._poll.poll(0, EVENTS_MAX)
        if not ready and timeout_s:
            select.select([self._poll.fileno()], [], [], timeout_s)
            ready = self._poll.poll(0, EVENTS_MAX)
        return ready

    def _run_timers(self) -> None:
        while True:
            now_us = clock.monotonic_us()
            with self._lock:
                if not self._timers or self._timers[0][0] > now_us:
                    return
                _due_us, _id, timer = heapq.heappop(self._timers)
            again_us = self._call(timer, now_us, when_failed=now_us + RETRY_US)
            if again_us is not None:
                with self._lock:
                    heapq.heappush(self._timers, (max(again_us, now_us + 1), next(self._timer_ids), timer))

    @staticmethod
    def _call(function: Callable[[int], Any], argument: int, *, when_failed: int | None = None) -> Any:
        try:
            return function(argument)
        except Exception:  # A bug in one connection must not end the loop for all.
            logger.exception("A callback failed.")
            return when_failed
