"""Timer of all sessions: sends pings, and ends sessions that do not answer, join or finish upgrading in time.

    opened --interval--> ping --timeout--> ended, unless a pong came --interval--> ping ...

Each session has its own deadlines [8] without a thread per session as in the library: deadlines of equal duration fall
due in the order in which they began.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

from app import clock
from app.server.transports.socket_io.engine.host import SessionHost, TimedSession, Upgrade
from app.server.transports.socket_io.engine.limits import LINGER_S, UPGRADE_TIMEOUT_S
from app.server.transports.socket_io.engine.packets import PING

logger = logging.getLogger("siar.engineio")

T = TypeVar("T")

RETRY_US = 100_000

Tick = Callable[[int], int]
"""A function that takes the time and returns when to be called next, both in microseconds of the monotonic clock."""

RunTimer = Callable[[Tick], None]
"""A function that arranges for a tick to be called now, and then at each time that it returned. Must not block."""


class EngineTimer:
    """The deadlines of a server's sessions."""

    def __init__(self, server: SessionHost, *, connect_timeout_s: float | None, run: RunTimer | None) -> None:
        self._server = server
        self._run = run or run_in_a_thread
        self._pings: Deadlines[TimedSession] = _deadlines(server.ping_interval)
        self._pongs: Deadlines[TimedSession] = _deadlines(server.ping_timeout)
        self._joins: Deadlines[TimedSession] | None = (
            None if connect_timeout_s is None else _deadlines(connect_timeout_s)
        )
        self._upgrades: Deadlines[Upgrade] = _deadlines(UPGRADE_TIMEOUT_S)
        self._leaving: Deadlines[str] = _deadlines(LINGER_S)
        self._due_us = 0
        self._is_running = False

    def on_open(self, session: TimedSession) -> None:
        """Schedule a new session's first ping, and its end if it never joins a namespace."""
        now_us = clock.monotonic_us()
        self._pings.add(session, now_us)
        if self._joins is not None:
            self._joins.add(session, now_us)
        with self._server.lock:
            starts, self._is_running = not self._is_running, True
        if starts:
            self._due_us = now_us
            self._run(self.tick)

    def on_pong(self, session: TimedSession) -> None:
        """Record a pong and schedule the next ping, one interval from now."""
        if session.pong_due_us:
            session.pong_due_us = 0
            self._pings.add(session, clock.monotonic_us())

    def on_upgrade(self, upgrade: Upgrade) -> None:
        """Schedule the end of an upgrade that has begun."""
        self._upgrades.add(upgrade, clock.monotonic_us())

    def on_leaving(self, sid: str) -> None:
        """Schedule the removal of an ended session whose last packets wait for a poll."""
        self._leaving.add(sid, clock.monotonic_us())

    def tick(self, now_us: int) -> int:
        """Do what is due by now; return when to call again."""
        # After a stall of this process, pongs may lie unread in the kernel: give the sessions another timeout.
        ending: list[tuple[TimedSession, str]] = []
        was_stalled = now_us - self._due_us > self._pongs.after_us // 4
        for due_us, session in self._pings.take(now_us):
            if not session.closing:
                self._ping(session, now_us, late_us=now_us - due_us)
        for due_us, session in self._pongs.take(now_us):
            if session.pong_due_us != due_us or session.closing:
                continue
            if was_stalled:
                session.pong_due_us = self._pongs.add(session, now_us)
            else:
                ending.append((session, self._server.reason.PING_TIMEOUT))
        for _due_us, session in self._joins.take(now_us) if self._joins is not None else ():
            if not session.has_joined and not session.closing:
                ending.append((session, self._server.reason.SERVER_DISCONNECT))
        if ending:
            # In the background, because disconnect handlers may block, and the other sessions' pings must not wait.
            self._server.start_background_task(_end, ending)
        for _due_us, upgrade in self._upgrades.take(now_us):
            upgrade.expire()
        for _due_us, sid in self._leaving.take(now_us):
            self._server.left(sid)
        self._due_us = self._next_due_us(now_us)
        return self._due_us

    def _ping(self, session: TimedSession, now_us: int, *, late_us: int) -> None:
        # The timeout counts from when the ping was due, so that a small lateness of ours is not added.
        session.pong_due_us = self._pongs.add(session, now_us - min(late_us, self._pongs.after_us // 10))
        session.send(PING)

    def _next_due_us(self, now_us: int) -> int:
        every: list[Deadlines[Any]] = [self._pings, self._pongs, self._upgrades, self._leaving]
        if self._joins is not None:
            every.append(self._joins)
        # What is added from now on is due after the shortest period at the earliest.
        due_us = now_us + min(each.after_us for each in every)
        for each in every:
            due_us = each.next_due_us(due_us)
        return due_us


class Deadlines(Generic[T]):
    """Deadlines that all lie the same time after their start, so that a deque keeps them in order.

    Any thread may add items; one thread takes them. Nothing is removed early; the caller skips items that no longer
    matter when they fall due.
    """

    __slots__ = ("_waiting", "after_us")

    def __init__(self, after_us: int) -> None:
        self.after_us = after_us
        """Time from an item's insertion until it is due."""
        self._waiting: deque[tuple[int, T]] = deque()

    def add(self, item: T, now_us: int) -> int:
        """Add an item that is due `after_us` from now; return when. `now_us` must be nearly monotonic across calls."""
        due_us = now_us + self.after_us
        self._waiting.append((due_us, item))
        return due_us

    def take(self, now_us: int) -> Iterator[tuple[int, T]]:
        """Remove and yield everything that is due by now, with the time at which it fell due."""
        while self._waiting and self._waiting[0][0] <= now_us:
            yield self._waiting.popleft()

    def next_due_us(self, otherwise_us: int) -> int:
        """Return when the first item is due, but at most `otherwise_us`."""
        return min(self._waiting[0][0], otherwise_us) if self._waiting else otherwise_us


def run_in_a_thread(tick: Tick) -> None:
    """Run the timer in a thread of its own, green in green modes: the default without an event loop."""

    def run() -> None:
        while True:
            due_us = clock.monotonic_us() + RETRY_US
            try:
                due_us = tick(clock.monotonic_us())
            except Exception:  # One session's bug must not stop all pings.
                logger.exception("A tick of the sessions' timer failed.")
            time.sleep(max(0, due_us - clock.monotonic_us()) / 1_000_000)

    threading.Thread(target=run, name="siar-engineio", daemon=True).start()


def _end(ending: list[tuple[TimedSession, str]]) -> None:
    for session, reason in ending:
        session.close(reason=reason)


def _deadlines(after_s: float) -> Deadlines[Any]:
    return Deadlines(round(after_s * 1_000_000))
