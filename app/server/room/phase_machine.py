"""The room's phases, and the transitions that time causes.

    closed -> gathering -> countdown -> running (<-> paused) -> finished
                  ^____________________________________________|  opened again: participants stay

There is no thread: the room applies timed transitions when somebody reads its phase.
"""

from __future__ import annotations

from app.server.room.attendance import Attendance
from app.server.room.phases import UNDER_WAY, Phase

COUNTDOWN_US = 5_000_000
"""Phones poll at least once a second, so all of them show 3-2-1 in time."""

LATECOMERS_US = 10_000_000
"""Time for which enough ready phones wait for joined ones that are not ready."""


class PhaseMachine:
    """The phase, and when it ends. Not thread-safe: the room's lock guards it."""

    def __init__(self) -> None:
        self.version = 0
        """Number of changes that others can see."""
        self.phase = Phase.CLOSED
        """Phase as of the last transition; a later one may be due."""
        self.countdown_to_us: int | None = None
        self.pause_wanted = False
        """True if a pause begins after the current trial."""
        self._enough_since_us: int | None = None

    @property
    def is_open(self) -> bool:
        """Return whether the room gathers phones or an experiment is under way."""
        return self.phase not in (Phase.CLOSED, Phase.FINISHED)

    @property
    def is_under_way(self) -> bool:
        """Return whether an experiment has begun and not ended."""
        return self.phase in UNDER_WAY

    def enter(self, phase: Phase) -> None:
        """Enter a phase; a countdown or a wanted pause is over."""
        self.phase = phase
        self.countdown_to_us = None
        self._enough_since_us = None
        self.pause_wanted = False
        self.version += 1

    def begin_countdown(self, to_us: int) -> None:
        """Enter the countdown, which ends at `to_us`."""
        self.enter(Phase.COUNTDOWN)
        self.countdown_to_us = to_us

    def end_countdown(self, now_us: int) -> None:
        """Enter the running phase if the countdown is over at `now_us`."""
        if self.phase is Phase.COUNTDOWN and now_us >= (self.countdown_to_us or 0):
            self.enter(Phase.RUNNING)

    def want_pause(self) -> None:
        """Let a pause begin after the current trial."""
        self.pause_wanted = True
        self.version += 1

    def has_gathered(self, now_us: int, attendance: Attendance, *, wanted_count: int | None) -> bool:
        """Return whether enough phones are ready and the others have had their time. `None`: no number is enough."""
        if self.phase is not Phase.GATHERING:
            return False
        ready_count = attendance.ready_count()
        if wanted_count is None or ready_count < max(1, wanted_count):
            self._enough_since_us = None
            return False
        if self._enough_since_us is None:
            self._enough_since_us = now_us
        return ready_count == attendance.awake_count() or now_us - self._enough_since_us >= LATECOMERS_US
