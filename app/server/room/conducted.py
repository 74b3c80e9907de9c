"""What the runner does in the room: it says what is measured, and when, and how it ended.

In the name of its `run` it reaches no other experiment, if this one was cancelled meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.core.errors import Conflict, Unknown
from app.i18n import refusal
from app.server.room.phases import Phase
from app.server.room.stages import COUNTDOWN_US, Stages
from app.server.room.trial import STATE_CONNECT, RoomTrial


class Conducted(Stages):
    """The room as its runner has it, and a practice round of the server's own."""

    def hear_runner(self, run: str) -> None:
        """The runner of `run` lives; from its first word on it is expected to go on asking."""
        with self.lock:
            self._go_on(self.now_us())  # Who was silent for too long has lost the room already.
            if self.experiment is not None and self.experiment.run == run:
                self._runner_heard_us = self.now_us()

    def set_trial(self, trial: RoomTrial | None, *, run: str) -> None:
        """What phones are to do next. Raises `Conflict` when nothing is under way, `Unknown` for a strange device."""
        with self.lock:
            self._check_under_way(run)
            if self.practice_run is not None:
                raise Conflict(refusal("practice_under_way"))
            for device in trial.participants if trial else ():
                if self.seats.get(device) is None:
                    raise Unknown(refusal("device_not_in_room", device=device[:64]))
            self._put(trial)
            if trial is None and self.pause_wanted:
                self._become(Phase.PAUSED)

    def begin_practice(self, run: str) -> None:
        """A practice round begins, of the server's own. Raises `Conflict`."""
        with self.lock:
            if self.phase is not Phase.GATHERING:
                raise Conflict(refusal("cannot_practise", phase=self._phase))
            if self.practice_run is not None:
                raise Conflict(refusal("practice_already"))
            if not any(not self.is_away(each) for each in self.here()):
                raise Conflict(refusal("nobody_to_practise"))
            self.practice_run = run
            self._changed()

    def set_practice_trial(self, run: str, trial: RoomTrial) -> None:
        """What phones are to do in a practice round. Raises `Conflict` when that has ended."""
        with self.lock:
            if self.practice_run != run:
                raise Conflict(refusal("practice_ended"))
            self._put(trial)

    def end_practice(self, run: str) -> None:
        """It is over, if it is not yet."""
        with self.lock:
            if self.practice_run == run:
                self.practice_run = None
                self._put(None)

    def set_progress(
        self,
        progress: Mapping[str, Any],
        *,
        phase: Phase | None = None,
        countdown_to_us: int | None = None,
        run: str,
    ) -> None:
        """How far it is; `None` leaves something as it was. Raises `Conflict` when nothing is under way."""
        with self.lock:
            self._check_under_way(run)
            # A new value: somebody may be writing the old one into an answer.
            self.progress = self.progress | {
                each: said for each, said in progress.items() if said is not None
            }
            if phase is Phase.COUNTDOWN:
                self._begin_countdown(countdown_to_us or self.now_us() + COUNTDOWN_US)
            elif phase is not None and phase is not self._phase and self._phase is not Phase.PAUSED:
                self._become(phase)  # A pause is the operator's: only `resume` ends it.
            self._changed()

    def finish(self, result: Mapping[str, Any], *, run: str) -> None:
        """It is over, and this came out. Raises `Conflict` when nothing is under way."""
        with self.lock:
            self._check_under_way(run)
            self._note_over()
            self.trial, self.result = None, dict(result)
            self._become(Phase.FINISHED)

    def _check_under_way(self, run: str) -> None:
        """Raises `Conflict`. A runner that is expected to go on asking was heard of now."""
        if self._runner_heard_us is not None:
            self.hear_runner(run)
        self._check_run(run)
        if self.phase in (Phase.CLOSED, Phase.FINISHED):
            raise Conflict(refusal("nothing_under_way"))

    def _check_run(self, run: str | None) -> None:
        """Raises `Conflict` for another run than the room's; an operator who names none means whatever is open."""
        ours = self.experiment.run if self.experiment else None
        if run is not None and run != ours:
            raise Conflict(refusal("room_of_another_run", run=run[:64]))

    def _put(self, trial: RoomTrial | None) -> None:
        if trial is not None and trial.state != STATE_CONNECT and trial.ends_us is not None:
            self._quiet_until_us = trial.ends_us
        self.trial = trial
        self._changed()
