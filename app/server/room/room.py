"""The room: phones gather, a countdown starts the experiment, the runner conducts it, and all see the result.

    Attendance    participants and their reports
    PhaseMachine        phases, and transitions caused by time
    RunnerOperations     operations of the runner
    Room          operations of phones and of the operator

The room decides when enough phones are ready. The runner decides what is measured and when (`set_trial`).
"""

from __future__ import annotations

from app.core.errors import Conflict, Unknown
from app.i18n import refusal
from app.server.room.clean_name import clean_name
from app.server.room.participant import Participant
from app.server.room.phase_machine import (
    COUNTDOWN_US,
    ENDED_RUNS_MAX,
    LATECOMERS_US,
    PARTICIPANT_SILENCE_US,
    RUNNER_SILENCE_US,
    RUNNER_SILENT,
)
from app.server.room.phases import UNDER_WAY, Experiment, Phase
from app.server.room.runner_operations import RunnerOperations
from app.server.room.seats import PARTICIPANTS_MAX

__all__ = [
    "COUNTDOWN_US",
    "ENDED_RUNS_MAX",
    "LATECOMERS_US",
    "PARTICIPANT_SILENCE_US",
    "RUNNER_SILENCE_US",
    "RUNNER_SILENT",
    "Room",
]


class Room(RunnerOperations):
    """The only room of this server. All methods are thread-safe."""

    # Operations of phones.

    def join(self, device: str, *, name: str, model: str | None, language: str) -> Participant:
        """Give `device` a seat, or the one that it had. Raises `Conflict`."""
        with self.lock:
            now_us = self.now_us()
            found = self.seats.get(device)
            if self.was_removed(device):
                raise Conflict(refusal("device_removed"))
            if self.phase is Phase.CLOSED:
                raise Conflict(refusal("room_closed"))
            if found is None:
                if self._phase is Phase.FINISHED:
                    raise Conflict(refusal("experiment_over"))
                if self._phase is not Phase.GATHERING:
                    raise Conflict(refusal("experiment_with_others"))
                found = self.seats.take(device, name=name, model=model, language=language, now_us=now_us)
            else:
                found.left = False
                found.name = clean_name(name) or found.name
                found.model = model or found.model
                found.last_seen_us = now_us
            self.reports.merge(device, {}, now_us=now_us, name=found.name)
            self._changed()
            return found

    def proposed_name(self, device: str, language: str) -> str:
        """Return a friendly name that is not taken, for a device that has not joined."""
        with self.lock:
            return self.seats.propose_name(device, language)

    def leave(self, device: str) -> None:
        """Let `device` leave by its own choice; once the experiment has begun its seat is kept."""
        with self.lock:
            found = self.seats.get(device)
            if found is None:
                return
            if self.phase in UNDER_WAY:
                found.left, found.ready = True, False
            else:
                self.seats.free(device)
            self._changed()

    def excludes(self, device: str, run: str) -> bool:
        """Return whether `run` is the room's and `device` is not a participant, so that it must not fill the run's spool."""
        with self.lock:
            is_ours = self.experiment is not None and self.experiment.run == run
            return is_ours and self.seats.get(device) is None

    def compresses(self, device: str) -> bool | None:
        """Return the compression factor of the trial that `device` takes part in; `None` without a trial or such a factor."""
        trial = self.trial
        if trial is None or device not in trial.participants:
            return None
        asked = trial.factors.get("compression")
        return None if asked is None else asked is True

    def forget(self, device: str) -> None:
        """Delete what is known of `device` on its owner's request. It may join again."""
        with self.lock:
            self.leave(device)
            self.reports.forget(device)
            if self.result is not None:
                others = {each: url for each, url in self.result.get("results", {}).items() if each != device}
                self.result = {**self.result, "results": others}

    # Operations of the operator.

    def open(self, experiment: Experiment) -> None:
        """Open the room for an experiment, keeping recently seen phones. Raises `Conflict` if it is open."""
        with self.lock:
            if self.phase not in (Phase.CLOSED, Phase.FINISHED):
                raise Conflict(refusal("room_open_already"))
            remembered_us = self.now_us() - PARTICIPANT_SILENCE_US
            self.seats.keep_only([each for each in self.present() if each.last_seen_us >= remembered_us])
            self._removed.clear()
            self.experiment = experiment
            self.trial, self.result, self.progress = None, None, {}
            self._quiet_until_us = 0
            self._runner_seen_us = self.closed_because = None
            self._enter_phase(Phase.GATHERING)

    def start(self) -> None:
        """Begin the countdown with the phones that are ready. Raises `Conflict`."""
        with self.lock:
            if self.phase is not Phase.GATHERING:
                raise Conflict(refusal("cannot_start", phase=self._phase))
            if self.practice_run is not None:
                raise Conflict(refusal("start_after_practice"))
            if not self.ready_count():
                raise Conflict(refusal("nobody_ready"))
            self._begin_countdown(self.now_us() + COUNTDOWN_US)

    def pause(self) -> None:
        """Pause at once, or after the current trial. Raises `Conflict`."""
        with self.lock:
            if self.phase is not Phase.RUNNING:
                raise Conflict(refusal("cannot_pause", phase=self._phase))
            if self.trial is None:
                self._enter_phase(Phase.PAUSED)
            else:
                self.pause_wanted = True
                self._changed()

    def resume(self) -> None:
        """End a pause, or cancel one that has not begun. Raises `Conflict`."""
        with self.lock:
            if self.phase is not Phase.PAUSED and not self.pause_wanted:
                raise Conflict(refusal("cannot_resume", phase=self._phase))
            self._enter_phase(Phase.RUNNING)

    def close(self, *, run: str | None = None) -> None:
        """Cancel or dismiss the experiment; phones stay for the next one. Raises `Conflict` for another `run`."""
        with self.lock:
            self._check_run(run)
            self._dismiss()
            self.closed_because = None

    def abandon(self, run: str) -> None:
        """Close the room if it is open for `run`, whose runner died without finishing."""
        with self.lock:
            is_its = self.experiment is not None and self.experiment.run == run
            if is_its and self.phase is not Phase.FINISHED:
                self.close()

    def remove(self, device: str) -> None:
        """Remove a device until the next experiment. Raises `Unknown`."""
        with self.lock:
            found = self.seats.get(device)
            if found is None:
                raise Unknown(refusal("device_not_in_room", device=device[:64]))
            if self.phase in UNDER_WAY:
                found.removed, found.ready = True, False
            else:
                self.seats.free(device)
                self._removed[device] = None
                if len(self._removed) > PARTICIPANTS_MAX:
                    self._removed.popitem(last=False)
            self._changed()
