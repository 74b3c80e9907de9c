"""The run that the room is open for: its experiment, what its runner announces, and whether its runner is alive.

A runner proves to be alive by polling the room. When it has been silent for too long (killed, or its machine asleep), the
room closes and reports why.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from app.core.errors import Conflict
from app.i18n import refusal
from app.server.room.phases import Experiment
from app.server.room.trial import RoomTrial

ENDED_RUNS_MAX = 64
"""Ended runs that are distinguished from unknown ones; the trials of older runs are dropped too."""

RUNNER_SILENCE_US = 60_000_000
"""Default of the setting `runner_silence_s`."""


class CurrentRun:
    """Experiment, trial, progress and result of the open run. Not thread-safe: the room's lock guards it."""

    def __init__(self, *, runner_silence_us: int = RUNNER_SILENCE_US) -> None:
        self.version = 0
        """Number of changes that others can see."""
        self.experiment: Experiment | None = None
        self.trial: RoomTrial | None = None
        self.progress: dict[str, Any] = {}
        """Latest progress from the runner: round, rounds, remaining_s, results, notes."""
        self.result: dict[str, Any] | None = None
        """Final result from the runner: verdict, table, downloads, results by device."""
        self.practice_run: str | None = None
        """Run id of the practice round under way."""
        self._runner_silence_us = runner_silence_us
        self._runner_seen_us: int | None = None
        """Time of the runner's last sign of life; `None` if no runner has polled."""
        self._ended: OrderedDict[str, None] = OrderedDict()
        """Runs that ended in this room, oldest first."""

    def open(self, experiment: Experiment) -> None:
        """Begin a run, with nothing of the previous one."""
        self.experiment = experiment
        self.trial, self.result, self.progress = None, None, {}
        self._runner_seen_us = None

    def is_run(self, run: str) -> bool:
        """Return whether `run` is the one that the room is open for."""
        return self.experiment is not None and self.experiment.run == run

    def check_run(self, run: str | None) -> None:
        """Raise `Conflict` for another run than the room's; an operator who names none means whichever is open."""
        if run is not None and not self.is_run(run):
            raise Conflict(refusal("room_of_another_run", run=run[:64]))

    def set_trial(self, trial: RoomTrial | None) -> None:
        """Replace the trial that phones see."""
        self.trial = trial
        self.version += 1

    def begin_practice(self, run: str) -> None:
        """Begin a practice round."""
        self.practice_run = run
        self.version += 1

    def update_progress(self, progress: Mapping[str, Any]) -> None:
        """Update the progress; `None` leaves a value as it was."""
        # A new dictionary, because another thread may be serialising the old one.
        self.progress = self.progress | {name: value for name, value in progress.items() if value is not None}
        self.version += 1

    def finish(self, result: Mapping[str, Any]) -> None:
        """Replace the trial by the run's result."""
        self._note_ended()
        self.trial, self.result = None, dict(result)

    def dismiss(self) -> None:
        """End the run without a result."""
        self._note_ended()
        self.experiment = self.trial = self.result = self.practice_run = None
        self.progress = {}

    def has_ended(self, run: str) -> bool:
        """Return whether `run` has ended here."""
        return run in self._ended

    def forget(self, device: str) -> None:
        """Delete the result of a device."""
        if self.result is not None:
            others = {each: url for each, url in self.result.get("results", {}).items() if each != device}
            self.result = {**self.result, "results": others}

    @property
    def is_polled(self) -> bool:
        """Return whether a runner has shown that it is alive, and therefore has to go on doing so."""
        return self._runner_seen_us is not None

    def note_runner_alive(self, run: str, now_us: int) -> None:
        """Record a sign of life of the runner of `run`, unless another run is open."""
        if self.is_run(run):
            self._runner_seen_us = now_us

    def is_runner_silent(self, now_us: int, *, quiet_until_us: int) -> bool:
        """Return whether the runner has been silent for too long; until `quiet_until_us` it measures and does not poll."""
        if self._runner_seen_us is None:
            return False
        return now_us - max(self._runner_seen_us, quiet_until_us) > self._runner_silence_us

    def _note_ended(self) -> None:
        if self.experiment is not None:
            self._ended[self.experiment.run] = None
            while len(self._ended) > ENDED_RUNS_MAX:
                self._ended.popitem(last=False)
