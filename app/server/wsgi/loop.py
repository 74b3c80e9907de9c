"""Readiness of all connections that were taken over: one epoll, one thread, no green thread for each.

    kernel -> epoll -> `on_events` of whoever is watched
    timers: a few callbacks that each say when they want to be called again

The thread is green where threads are: it waits in the patched `select` for the epoll's own descriptor, so that neither
eventlet nor gevent keeps anything for a connection. Nothing that it calls may block.
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
"""Asked for at a time: the kernel goes on with those who have waited longest."""

TURN_US = 1_000
"""Of handling them before others have their turn. One that brings a hundred tiny frames may take that long by itself,
so each is followed by a look at the clock, and who is left of a lot comes first in the next turn."""

WAIT_MAX_US = 60_000_000
"""With nothing due. Whoever has something earlier rings; each turn of an idle server is paid with cold caches."""

RETRY_US = 1_000_000
"""Until a timer that failed is called again: what failed once may be needed for long, and the log is not to be filled."""

Timer = Callable[[int], int | None]
"""Takes the time and answers when it wants to be called next, both in microseconds of the monotonic clock.

`None`: never again. One that raises is called again after `RETRY_US`.
"""


class Watched(Protocol):
    """What waits for its descriptor."""

    def on_events(self, events: int) -> None:
        """Something of `epoll.IN` and its like came. Must not block."""
        ...


class Loop:
    """The epoll and its thread, which starts with the first descriptor. All methods may be called from any thread."""

    def __init__(self) -> None:
        self._epoll = epoll.make()
        self._watched: list[Watched | None] = []
        """By descriptor, which the kernel keeps small and dense."""
        self._timers: list[tuple[int, int, Timer]] = []
        self._timer_ids = itertools.count()
        self._left: list[tuple[int, int]] = []
        """What the last turn had no time for."""
        self._lock = threading.Lock()
        self._bell = -1
        self._sleeps_until_us = 0
        self._started = False

    @property
    def is_possible(self) -> bool:
        """Whether this platform has what it needs."""
        return self._epoll is not None and hasattr(os, "eventfd")

    def watch(self, fd: int, watched: Watched, *, read: bool = True) -> None:
        """Tell `watched` when its peer leaves, and if `read`, when it writes."""
        self._start()
        while len(self._watched) <= fd:
            self._watched.append(None)
        self._watched[fd] = watched
        self._poll.register(fd, epoll.PEER_CLOSED | (epoll.IN if read else 0))

    def want(self, fd: int, *, read: bool, write: bool) -> None:
        """What else to tell it of, beside the peer's end: bytes to read, and room to write.

        What is not read stays in the kernel, and when that is full, in the peer.
        """
        self._poll.modify(fd, epoll.PEER_CLOSED | (epoll.IN if read else 0) | (epoll.OUT if write else 0))

    def forget(self, fd: int) -> None:
        """Before `fd` is closed."""
        self._watched[fd] = None
        try:
            self._poll.unregister(fd)
        except OSError:  # It had not been registered, or is gone.
            logger.debug("Descriptor %d was not watched.", fd)

    def call_at(self, due_us: int, timer: Timer) -> None:
        """Call `timer` at `due_us`, and then whenever it answered."""
        self._start()
        with self._lock:
            heapq.heappush(self._timers, (due_us, next(self._timer_ids), timer))
            wake = due_us < self._sleeps_until_us
        if wake:
            os.eventfd_write(self._bell, 1)

    def call_once(self, after_us: int, function: Callable[[], None]) -> None:
        """Call `function` once, later, whether it succeeds or not."""

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
        self._bell = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._poll.register(self._bell, epoll.IN)
        threading.Thread(target=self._run, name="siar-loop", daemon=True).start()

    def _run(self) -> None:
        while True:
            ready = self._left or self._wait()
            until_us = clock.monotonic_us() + TURN_US
            self._left = self._handle(ready, until_us)
            while len(ready) == EVENTS_MAX and not self._left and clock.monotonic_us() < until_us:
                ready = self._poll.poll(0, EVENTS_MAX)
                self._left = self._handle(ready, until_us)
            self._fire()
            time.sleep(0)  # The others' turn.

    def _handle(self, ready: list[tuple[int, int]], until_us: int) -> list[tuple[int, int]]:
        """Tell who is watched; answers those whom the time was not enough for."""
        for number, (fd, events) in enumerate(ready, start=1):
            if fd == self._bell:
                os.eventfd_read(self._bell)
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

    def _fire(self) -> None:
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
        except Exception:  # One connection's bug must not end everybody's loop.
            logger.exception("A callback failed.")
            return when_failed
