"""The room: phones gather, a countdown starts the experiment, the runner conducts it, and all see the result.

    Room            one lock, and the rules that concern several of its parts:
      Attendance    participants and their reports
      PhaseMachine  the phase, and transitions caused by time
      CurrentRun    the experiment, what its runner announces, and whether its runner is alive

The room decides when enough phones are ready. The runner decides what is measured and when (`set_trial`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, Literal

from app import clock
from app.core.errors import Conflict, Unknown
from app.core.units import ServerUs
from app.i18n import refusal
from app.server.room.attendance import Attendance
from app.server.room.current_run import RUNNER_SILENCE_US, CurrentRun
from app.server.room.participant import Participant
from app.server.room.phase_machine import COUNTDOWN_US, PhaseMachine
from app.server.room.phases import Experiment, Phase
from app.server.room.trial import STATE_CONNECT, RoomTrial

RUNNER_SILENT = "runner_silent"
"""Reason for closing when no operator closed the room."""


class Room:
    """The only room of this server. All methods are thread-safe."""

    def __init__(
        self,
        *,
        now_us: Callable[[], ServerUs] = clock.now_us,
        runner_silence_us: int = RUNNER_SILENCE_US,
    ) -> None:
        self.lock = threading.RLock()
        """Held for every change, and by readers of several values that must be consistent."""
        self.now_us = now_us
        self.attendance = Attendance(now_us=now_us)
        self.phases = PhaseMachine()
        self.current = CurrentRun(runner_silence_us=runner_silence_us)
        self.seats = self.attendance.seats
        self.reports = self.attendance.reports
        self.closed_because: str | None = None
        """`runner_silent`, or `None` if an operator closed the room."""

    # What anybody may read.

    @property
    def phase(self) -> Phase:
        """Return the current phase, after applying timed transitions."""
        with self.lock:
            self._apply_timed_transitions(self.now_us())
            return self.phases.phase

    @property
    def version(self) -> int:
        """Return a number that each visible change increments."""
        return self.attendance.version + self.phases.version + self.current.version

    @property
    def experiment(self) -> Experiment | None:
        """Return the experiment that the room was opened for."""
        return self.current.experiment

    @property
    def result(self) -> dict[str, Any] | None:
        """Return the final result from the runner."""
        return self.current.result

    @property
    def practice_run(self) -> str | None:
        """Return the run id of the practice round under way."""
        return self.current.practice_run

    def present(self) -> list[Participant]:
        """Return the participants who have neither left nor been removed, ordered by seat."""
        return self.attendance.present()

    def ready_count(self) -> int:
        """Return how many participants are ready and have been heard from recently."""
        return self.attendance.ready_count()

    def is_away(self, participant: Participant) -> bool:
        """Return whether a participant has been silent for too long. Silence during a trial does not count."""
        return self.attendance.is_away(participant)

    def name_of(self, device: str) -> str | None:
        """Return a device's name, or `None` if it never gave one."""
        return self.attendance.name_of(device)

    def was_removed(self, device: str) -> bool:
        """Return whether the operator removed `device`."""
        return self.attendance.was_removed(device)

    def all_reported(self, what: Literal["trial_ready", "trial_done"], trial: RoomTrial) -> bool:
        """Return whether every present participant of the trial has reported this state for it."""
        with self.lock:
            return self.attendance.all_reported(what, trial)

    def has_ended(self, run: str) -> bool:
        """Return whether `run` has ended here, so that nothing reads what phones post for it any more."""
        return self.current.has_ended(run)

    def excludes(self, device: str, run: str) -> bool:
        """Return whether `run` is the room's and `device` is not a participant, so that it must not fill the run's spool."""
        with self.lock:
            return self.current.is_run(run) and self.seats.get(device) is None

    def compresses(self, device: str) -> bool | None:
        """Return the compression factor of the trial that `device` takes part in; `None` without a trial or such a factor."""
        trial = self.current.trial
        if trial is None or device not in trial.participants:
            return None
        asked = trial.factors.get("compression")
        return None if asked is None else asked is True

    # Operations of phones.

    def join(self, device: str, *, name: str, model: str | None, language: str) -> Participant:
        """Give `device` a seat, or the one that it had. Raises `Conflict`."""
        with self.lock:
            if self.was_removed(device):
                raise Conflict(refusal("device_removed"))
            phase = self.phase
            if phase is Phase.CLOSED:
                raise Conflict(refusal("room_closed"))
            if self.seats.get(device) is None and phase is Phase.FINISHED:
                raise Conflict(refusal("experiment_over"))
            if self.seats.get(device) is None and phase is not Phase.GATHERING:
                raise Conflict(refusal("experiment_with_others"))
            return self.attendance.join(device, name=name, model=model, language=language)

    def proposed_name(self, device: str, language: str) -> str:
        """Return a friendly name that is not taken, for a device that has not joined."""
        with self.lock:
            return self.seats.propose_name(device, language)

    def report(self, device: str, report: Mapping[str, Any]) -> None:
        """Store a device's report about itself, whether or not it is in the room."""
        with self.lock:
            self.attendance.report(device, report)

    def leave(self, device: str) -> None:
        """Let `device` leave by its own choice; once the experiment has begun its seat is kept."""
        with self.lock:
            self._apply_timed_transitions(self.now_us())
            self.attendance.leave(device, keep_seat=self.phases.is_under_way)

    def forget(self, device: str) -> None:
        """Delete what is known of `device` on its owner's request. It may join again."""
        with self.lock:
            self.leave(device)
            self.reports.forget(device)
            self.current.forget(device)

    # Operations of the operator.

    def open(self, experiment: Experiment) -> None:
        """Open the room for an experiment, keeping recently seen phones. Raises `Conflict` if it is open."""
        with self.lock:
            self._apply_timed_transitions(self.now_us())
            if self.phases.is_open:
                raise Conflict(refusal("room_open_already"))
            self.attendance.begin_gathering()
            self.current.open(experiment)
            self.closed_because = None
            self.phases.enter(Phase.GATHERING)

    def start(self) -> None:
        """Begin the countdown with the phones that are ready. Raises `Conflict`."""
        with self.lock:
            phase = self.phase
            if phase is not Phase.GATHERING:
                raise Conflict(refusal("cannot_start", phase=phase))
            if self.practice_run is not None:
                raise Conflict(refusal("start_after_practice"))
            if not self.ready_count():
                raise Conflict(refusal("nobody_ready"))
            self._begin_countdown(self.now_us() + COUNTDOWN_US)

    def pause(self) -> None:
        """Pause at once, or after the current trial. Raises `Conflict`."""
        with self.lock:
            phase = self.phase
            if phase is not Phase.RUNNING:
                raise Conflict(refusal("cannot_pause", phase=phase))
            if self.current.trial is None:
                self.phases.enter(Phase.PAUSED)
            else:
                self.phases.want_pause()

    def resume(self) -> None:
        """End a pause, or cancel one that has not begun. Raises `Conflict`."""
        with self.lock:
            phase = self.phase
            if phase is not Phase.PAUSED and not self.phases.pause_wanted:
                raise Conflict(refusal("cannot_resume", phase=phase))
            self.phases.enter(Phase.RUNNING)

    def close(self, *, run: str | None = None) -> None:
        """Cancel or dismiss the experiment; phones stay for the next one. Raises `Conflict` for another `run`."""
        with self.lock:
            self.current.check_run(run)
            self._dismiss(because=None)

    def abandon(self, run: str) -> None:
        """Close the room if it is open for `run`, whose runner died without finishing."""
        with self.lock:
            if self.current.is_run(run) and self.phase is not Phase.FINISHED:
                self.close()

    def remove(self, device: str) -> None:
        """Remove a device until the next experiment. Raises `Unknown`."""
        with self.lock:
            self._apply_timed_transitions(self.now_us())
            self.attendance.remove(device, keep_seat=self.phases.is_under_way)

    # Operations of the runner. Each call names its run, so that a late one cannot affect the next experiment.

    def note_runner_alive(self, run: str) -> None:
        """Record a sign of life of the runner of `run`; from the first one on it must keep polling."""
        with self.lock:
            # First, because a runner that was silent for too long has lost the room.
            self._apply_timed_transitions(self.now_us())
            self.current.note_runner_alive(run, self.now_us())

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
            if trial is None and self.phases.pause_wanted:
                self.phases.enter(Phase.PAUSED)

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
            self.current.update_progress(progress)
            if phase is Phase.COUNTDOWN:
                self._begin_countdown(countdown_to_us or self.now_us() + COUNTDOWN_US)
            elif phase is not None and self.phases.phase not in (phase, Phase.PAUSED):
                self.phases.enter(phase)  # Only the operator's `resume` ends a pause.

    def finish(self, result: Mapping[str, Any], *, run: str) -> None:
        """End the experiment with its result. Raises `Conflict` if nothing is under way."""
        with self.lock:
            self._check_under_way(run)
            self.current.finish(result)
            self.phases.enter(Phase.FINISHED)

    # Operations of the server's own practice rounds.

    def begin_practice(self, run: str) -> None:
        """Begin a practice round of the server's own. Raises `Conflict`."""
        with self.lock:
            phase = self.phase
            if phase is not Phase.GATHERING:
                raise Conflict(refusal("cannot_practise", phase=phase))
            if self.practice_run is not None:
                raise Conflict(refusal("practice_already"))
            if not self.attendance.awake_count():
                raise Conflict(refusal("nobody_to_practise"))
            self.current.begin_practice(run)

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
                self.current.practice_run = None
                self._set_trial(None)

    def _check_under_way(self, run: str) -> None:
        """Check that `run` is under way, which also counts as its runner's sign of life. Raises `Conflict`."""
        if self.current.is_polled:
            self.note_runner_alive(run)
        self.current.check_run(run)
        self._apply_timed_transitions(self.now_us())
        if not self.phases.is_open:
            raise Conflict(refusal("nothing_under_way"))

    def _set_trial(self, trial: RoomTrial | None) -> None:
        if trial is not None and trial.state != STATE_CONNECT and trial.ends_us is not None:
            self.attendance.quiet_until_us = trial.ends_us
        self.current.set_trial(trial)

    def _begin_countdown(self, to_us: int) -> None:
        self.attendance.select_ready()
        self.phases.begin_countdown(to_us)

    def _dismiss(self, *, because: str | None) -> None:
        self.current.dismiss()
        self.phases.enter(Phase.CLOSED)
        self.closed_because = because

    def _apply_timed_transitions(self, now_us: int) -> None:
        """Apply the transitions that are due at `now_us`."""
        quiet_until_us = self.attendance.quiet_until_us
        if self.phases.is_open and self.current.is_runner_silent(now_us, quiet_until_us=quiet_until_us):
            self._dismiss(because=RUNNER_SILENT)
        experiment = self.current.experiment
        wanted_count = (
            None if experiment is None or self.practice_run is not None else experiment.wanted_count
        )
        if self.phases.has_gathered(now_us, self.attendance, wanted_count=wanted_count):
            self._begin_countdown(now_us + COUNTDOWN_US)
        self.phases.end_countdown(now_us)
