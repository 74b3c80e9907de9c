"""Operations of the runner in the room: it announces trials, reports progress and finishes the experiment.

Each call names the runner's `run`, so that a late call of a cancelled run cannot affect the next experiment.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.core.errors import Conflict, Unknown
from app.i18n import refusal
from app.server.room.phase_machine import COUNTDOWN_US, PhaseMachine
from app.server.room.phases import Phase
from app.server.room.trial import STATE_CONNECT, RoomTrial


class RunnerOperations(PhaseMachine):
    """The room with the operations of the runner and of the server's own practice rounds."""

    def note_runner_alive(self, run: str) -> None:
        """Record a sign of life of the runner of `run`; from the first one on it must keep polling."""
        with self.lock:
            # First, because a runner that was silent for too long has lost the room.
            self._apply_timed_transitions(self.now_us())
            if self.experiment is not None and self.experiment.run == run:
                self._runner_seen_us = self.now_us()

    def set_trial(self, trial: RoomTrial | None, *, run: str) -> None:
        """Announce the phones' next trial. Raises `Conflict` if nothing is under way, `Unknown` for an unknown device."""
        with self.lock:
            self._check_under_way(run)
            if self.practice_run is not None:
                raise Conflict(refusal("practice_under_way"))
            for device in trial.participants if trial else ():
                if self.seats.get(device) is None:
                    raise Unknown(refusal("device_not_in_room", device=device[:64]))
            self._set_trial(trial)
            if trial is None and self.pause_wanted:
                self._enter_phase(Phase.PAUSED)

    def begin_practice(self, run: str) -> None:
        """Begin a practice round of the server's own. Raises `Conflict`."""
        with self.lock:
            if self.phase is not Phase.GATHERING:
                raise Conflict(refusal("cannot_practise", phase=self._phase))
            if self.practice_run is not None:
                raise Conflict(refusal("practice_already"))
            if not any(not self.is_away(each) for each in self.present()):
                raise Conflict(refusal("nobody_to_practise"))
            self.practice_run = run
            self._changed()

    def set_practice_trial(self, run: str, trial: RoomTrial) -> None:
        """Announce the phones' next practice trial. Raises `Conflict` if the practice round has ended."""
        with self.lock:
            if self.practice_run != run:
                raise Conflict(refusal("practice_ended"))
            self._set_trial(trial)

    def end_practice(self, run: str) -> None:
        """End the practice round if it is still under way."""
        with self.lock:
            if self.practice_run == run:
                self.practice_run = None
                self._set_trial(None)

    def set_progress(
        self,
        progress: Mapping[str, Any],
        *,
        phase: Phase | None = None,
        countdown_to_us: int | None = None,
        run: str,
    ) -> None:
        """Update the progress; `None` leaves a value as it was. Raises `Conflict` if nothing is under way."""
        with self.lock:
            self._check_under_way(run)
            # A new dictionary, because another thread may be serialising the old one.
            self.progress = self.progress | {
                each: said for each, said in progress.items() if said is not None
            }
            if phase is Phase.COUNTDOWN:
                self._begin_countdown(countdown_to_us or self.now_us() + COUNTDOWN_US)
            elif phase is not None and phase is not self._phase and self._phase is not Phase.PAUSED:
                self._enter_phase(phase)  # Only the operator's `resume` ends a pause.
            self._changed()

    def finish(self, result: Mapping[str, Any], *, run: str) -> None:
        """End the experiment with its result. Raises `Conflict` if nothing is under way."""
        with self.lock:
            self._check_under_way(run)
            self._note_ended()
            self.trial, self.result = None, dict(result)
            self._enter_phase(Phase.FINISHED)

    def _check_under_way(self, run: str) -> None:
        """Check that `run` is under way, which also counts as its runner's sign of life. Raises `Conflict`."""
        if self._runner_seen_us is not None:
            self.note_runner_alive(run)
        self._check_run(run)
        if self.phase in (Phase.CLOSED, Phase.FINISHED):
            raise Conflict(refusal("nothing_under_way"))

    def _check_run(self, run: str | None) -> None:
        """Raise `Conflict` for another run than the room's; an operator who names none means whichever is open."""
        ours = self.experiment.run if self.experiment else None
        if run is not None and run != ours:
            raise Conflict(refusal("room_of_another_run", run=run[:64]))

    def _set_trial(self, trial: RoomTrial | None) -> None:
        if trial is not None and trial.state != STATE_CONNECT and trial.ends_us is not None:
            self._quiet_until_us = trial.ends_us
        self.trial = trial
        self._changed()
