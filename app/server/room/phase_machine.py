"""The room's phases, and the transitions that time causes.

    closed -> gathering -> countdown -> running (<-> paused) -> finished
                  ^____________________________________________|  opened again: participants stay

There is no thread: timed transitions happen when somebody reads the phase. A runner proves to be alive by polling the room.
When it has been silent for too long (killed, or its machine asleep), the room closes and reports why.
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
"""Phones poll at least once a second, so all of them show 3-2-1 in time."""

LATECOMERS_US = 10_000_000
"""Time for which enough ready phones wait for joined ones that are not ready."""

PARTICIPANT_SILENCE_US = 300_000_000
"""Silence after which a phone is not kept for another experiment; a phone in a pocket polls once a minute."""

ENDED_RUNS_MAX = 64
"""Ended runs that are distinguished from unknown ones; the trials of older runs are dropped too."""

RUNNER_SILENCE_US = 60_000_000
"""Default of the setting `runner_silence_s`."""

RUNNER_SILENT = "runner_silent"
"""Reason for closing when no operator closed the room."""


class PhaseMachine(Attendance):
    """The room's phase and when it ends. Its lock is held for every change."""

    def __init__(
        self,
        *,
        now_us: Callable[[], ServerUs] = clock.now_us,
        runner_silence_us: int = RUNNER_SILENCE_US,
    ) -> None:
        super().__init__(now_us=now_us)
        self._runner_silence_us = runner_silence_us
        self._runner_seen_us: int | None = None
        """Time of the runner's last sign of life; `None` if no runner has polled."""
        self.closed_because: str | None = None
        """`runner_silent`, or `None` if an operator closed the room."""
        self.experiment: Experiment | None = None
        self.trial: RoomTrial | None = None
        self.progress: dict[str, Any] = {}
        """Latest progress from the runner: round, rounds, remaining_s, results, notes."""
        self.result: dict[str, Any] | None = None
        """Final result from the runner: verdict, table, downloads, results by device."""
        self.countdown_to_us: int | None = None
        self.pause_wanted = False
        """True if a pause begins after the current trial."""
        self.practice_run: str | None = None
        """Run id of the practice round under way."""
        self._phase = Phase.CLOSED
        self._enough_since_us: int | None = None
        self._ended_runs: OrderedDict[str, None] = OrderedDict()
        """Runs that ended in this room, oldest first."""

    @property
    def phase(self) -> Phase:
        """Return the current phase, after applying timed transitions."""
        with self.lock:
            self._apply_timed_transitions(self.now_us())
            return self._phase

    def has_ended(self, run: str) -> bool:
        """Return whether `run` has ended here, so that nothing reads what phones post for it any more."""
        return run in self._ended_runs

    def _dismiss(self) -> None:
        self._note_ended()
        self.experiment = self.trial = self.result = self.practice_run = None
        self.progress = {}
        self._enter_phase(Phase.CLOSED)

    def _note_ended(self) -> None:
        if self.experiment is not None:
            self._ended_runs[self.experiment.run] = None
            while len(self._ended_runs) > ENDED_RUNS_MAX:
                self._ended_runs.popitem(last=False)

    def _apply_timed_transitions(self, now_us: int) -> None:
        """Apply the transitions that are due at `now_us`."""
        if self._is_runner_silent(now_us):
            self._dismiss()
            self.closed_because = RUNNER_SILENT
        if self._phase is Phase.GATHERING and self._has_waited_enough(now_us):
            self._begin_countdown(now_us + COUNTDOWN_US)
        if self._phase is Phase.COUNTDOWN and now_us >= (self.countdown_to_us or 0):
            self._enter_phase(Phase.RUNNING)

    def _is_runner_silent(self, now_us: int) -> bool:
        """Return whether the runner has been silent for too long. During a trial it does not poll."""
        if self._runner_seen_us is None or self._phase in (Phase.CLOSED, Phase.FINISHED):
            return False
        return now_us - max(self._runner_seen_us, self._quiet_until_us) > self._runner_silence_us

    def _has_waited_enough(self, now_us: int) -> bool:
        """Return whether enough phones are ready, and the others have had their time."""
        assert self.experiment is not None
        ready_count = self.ready_count()
        if self.practice_run is not None or ready_count < max(1, self.experiment.wanted_count):
            self._enough_since_us = None
            return False
        if self._enough_since_us is None:
            self._enough_since_us = now_us
        present_count = sum(not self.is_away(each) for each in self.present())
        return ready_count == present_count or now_us - self._enough_since_us >= LATECOMERS_US

    def _begin_countdown(self, to_us: int) -> None:
        for each in self.present():
            each.taking_part = each.ready and not self.is_away(each)
        self._enter_phase(Phase.COUNTDOWN)
        self.countdown_to_us = to_us

    def _enter_phase(self, phase: Phase) -> None:
        self._phase = phase
        self.countdown_to_us = None
        self._enough_since_us = None
        self.pause_wanted = False
        self._changed()
