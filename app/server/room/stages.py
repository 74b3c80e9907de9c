"""The room's phases: how one follows from another, and which time alone brings.

    closed -> gathering -> countdown -> running (<-> paused) -> finished
                  ^____________________________________________|  opened anew: who is here stays

Phases that end with time change when somebody asks: there is no thread. A runner shows that it lives by asking how the
room stands; one that has fallen silent (killed, its machine asleep) cannot come back to it: the room closes and says so.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from app import clock
from app.core.units import ServerUs
from app.server.room.attendance import Attendance
from app.server.room.phases import Experiment, Phase
from app.server.room.trial import RoomTrial

COUNTDOWN_US = 5_000_000
"""Phones ask once a second at most: all of them show 3-2-1 in time."""

LATECOMERS_US = 10_000_000
"""How long enough phones wait for those that have joined and are not ready."""

REMEMBERED_US = 300_000_000
"""A phone in a pocket asks once a minute; who was silent for five is not kept for another experiment."""

OVER_KEPT_MAX = 64
"""Ended runs that are told apart from unknown ones; trials of older ones are forgotten as well."""

RUNNER_SILENCE_US = 60_000_000
"""As long as the setting `runner_silence_s` says by itself."""

RUNNER_SILENT = "runner_silent"
"""Why the room was closed, where no operator did it."""


class Stages(Attendance):
    """What the room is about, and until when. Its lock is held wherever something changes."""

    def __init__(
        self,
        *,
        now_us: Callable[[], ServerUs] = clock.now_us,
        runner_silence_us: int = RUNNER_SILENCE_US,
    ) -> None:
        super().__init__(now_us=now_us)
        self._runner_silence_us = runner_silence_us
        self._runner_heard_us: int | None = None
        """When its runner was heard of last; `None`: nobody has said to conduct it."""
        self.closed_because: str | None = None
        """`runner_silent`; `None` where somebody closed it."""
        self.experiment: Experiment | None = None
        self.trial: RoomTrial | None = None
        self.progress: dict[str, Any] = {}
        """As the runner last said it: round, rounds, remaining_s, results, notes."""
        self.result: dict[str, Any] | None = None
        """As the runner said it at the end: verdict, table, downloads, results by device."""
        self.countdown_to_us: int | None = None
        self.pause_wanted = False
        """A pause begins when the trial is over."""
        self.practice_run: str | None = None
        """Of the practice round that is under way."""
        self._phase = Phase.CLOSED
        self._enough_since_us: int | None = None
        self._over: OrderedDict[str, None] = OrderedDict()
        """Runs that have ended here."""

    @property
    def phase(self) -> Phase:
        """What the room is about now."""
        with self.lock:
            self._go_on(self.now_us())
            return self._phase

    def is_over(self, run: str) -> bool:
        """Whether `run` has ended here: nobody reads any more what phones post for it."""
        return run in self._over

    def _put_away(self) -> None:
        self._note_over()
        self.experiment = self.trial = self.result = self.practice_run = None
        self.progress = {}
        self._become(Phase.CLOSED)

    def _note_over(self) -> None:
        if self.experiment is not None:
            self._over[self.experiment.run] = None
            while len(self._over) > OVER_KEPT_MAX:
                self._over.popitem(last=False)

    def _go_on(self, now_us: int) -> None:
        """The changes of phase that time brings."""
        if self._is_runner_silent(now_us):
            self._put_away()
            self.closed_because = RUNNER_SILENT
        if self._phase is Phase.GATHERING and self._has_waited_enough(now_us):
            self._begin_countdown(now_us + COUNTDOWN_US)
        if self._phase is Phase.COUNTDOWN and now_us >= (self.countdown_to_us or 0):
            self._become(Phase.RUNNING)

    def _is_runner_silent(self, now_us: int) -> bool:
        """Whether it was not heard of for too long. During a trial it asks nothing, as phones do."""
        if self._runner_heard_us is None or self._phase in (Phase.CLOSED, Phase.FINISHED):
            return False
        return now_us - max(self._runner_heard_us, self._quiet_until_us) > self._runner_silence_us

    def _has_waited_enough(self, now_us: int) -> bool:
        """Whether as many as wanted are ready, and those that are not have had their time."""
        assert self.experiment is not None
        ready_count = self.ready_count()
        if self.practice_run is not None or ready_count < max(1, self.experiment.wanted_count):
            self._enough_since_us = None
            return False
        if self._enough_since_us is None:
            self._enough_since_us = now_us
        present_count = sum(not self.is_away(each) for each in self.here())
        return ready_count == present_count or now_us - self._enough_since_us >= LATECOMERS_US

    def _begin_countdown(self, to_us: int) -> None:
        for each in self.here():
            each.taking_part = each.ready and not self.is_away(each)
        self._become(Phase.COUNTDOWN)
        self.countdown_to_us = to_us

    def _become(self, phase: Phase) -> None:
        self._phase = phase
        self.countdown_to_us = None
        self._enough_since_us = None
        self.pause_wanted = False
        self._changed()
