"""The room: phones gather, a countdown starts the experiment, the runner conducts it, everybody sees how it ends.

    closed -> gathering -> countdown -> running (<-> paused) -> finished
                  ^____________________________________________|  opened anew: who is here stays

The room decides when enough phones are ready. What is measured, and when, the runner says (`set_trial`). Phases that
end with time change when somebody asks: there is no thread. A runner shows that it lives by asking how the room stands;
one that has fallen silent (killed, its machine asleep) cannot come back to it: the room closes and says so.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

from app import clock
from app.catalogues import refusal
from app.core.clean_name import clean_name
from app.core.errors import Conflict, Unknown
from app.room.attendance import Attendance
from app.room.participant import Participant
from app.room.phases import UNDER_WAY, Experiment, Phase
from app.room.seats import PARTICIPANTS_MAX
from app.room.trial import STATE_CONNECT, RoomTrial

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


class Room(Attendance):
    """The one room of this server. All methods may be called from any thread."""

    def __init__(
        self,
        *,
        now_us: Callable[[], int] = clock.now_us,
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

    # What phones do.

    def join(self, device: str, *, name: str, model: str | None, language: str) -> Participant:
        """A seat for `device`, or the one that it had. Raises `Conflict`."""
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
            self.reports.take(device, {}, now_us=now_us, name=found.name)
            self._changed()
            return found

    def proposed_name(self, device: str, language: str) -> str:
        """A friendly name that nobody here has, for a device that has not joined."""
        with self.lock:
            return self.seats.proposal(device, language)

    def leave(self, device: str) -> None:
        """`device` goes by itself; once the experiment has begun its seat is kept for it."""
        with self.lock:
            found = self.seats.get(device)
            if found is None:
                return
            if self.phase in UNDER_WAY:
                found.left, found.ready = True, False
            else:
                self.seats.free(device)
            self._changed()

    def keeps_out(self, device: str, run: str) -> bool:
        """Whether `run` is the room's and `device` none of its participants: strangers could fill its spool."""
        with self.lock:
            is_ours = self.experiment is not None and self.experiment.run == run
            return is_ours and self.seats.get(device) is None

    def is_over(self, run: str) -> bool:
        """Whether `run` has ended here: nobody reads any more what phones post for it."""
        return run in self._over

    def forget(self, device: str) -> None:
        """Keep nothing of `device`: its owner asks. Its seat is free; it may join again."""
        with self.lock:
            self.leave(device)
            self.reports.forget(device)
            if self.result is not None:
                others = {each: url for each, url in self.result.get("results", {}).items() if each != device}
                self.result = {**self.result, "results": others}

    # What the operator does.

    def open(self, experiment: Experiment) -> None:
        """Let phones gather; those that are here from before stay. Raises `Conflict` while one is open."""
        with self.lock:
            if self.phase not in (Phase.CLOSED, Phase.FINISHED):
                raise Conflict(refusal("room_open_already"))
            remembered_us = self.now_us() - REMEMBERED_US
            self.seats.begin_anew([each for each in self.here() if each.last_seen_us >= remembered_us])
            self._removed.clear()
            self.experiment = experiment
            self.trial, self.result, self.progress = None, None, {}
            self._quiet_until_us = 0
            self._runner_heard_us = self.closed_because = None
            self._become(Phase.GATHERING)

    def start(self) -> None:
        """Begin the countdown with who is ready. Raises `Conflict`."""
        with self.lock:
            if self.phase is not Phase.GATHERING:
                raise Conflict(refusal("cannot_start", phase=self._phase))
            if self.practice_run is not None:
                raise Conflict(refusal("start_after_practice"))
            if not self.ready_count():
                raise Conflict(refusal("nobody_ready"))
            self._begin_countdown(self.now_us() + COUNTDOWN_US)

    def pause(self) -> None:
        """Stop between trials: at once, or as soon as the present one is over. Raises `Conflict`."""
        with self.lock:
            if self.phase is not Phase.RUNNING:
                raise Conflict(refusal("cannot_pause", phase=self._phase))
            if self.trial is None:
                self._become(Phase.PAUSED)
            else:
                self.pause_wanted = True
                self._changed()

    def resume(self) -> None:
        """Go on. Raises `Conflict`."""
        with self.lock:
            if self.phase is not Phase.PAUSED and not self.pause_wanted:
                raise Conflict(refusal("cannot_resume", phase=self._phase))
            self._become(Phase.RUNNING)

    def close(self, *, run: str | None = None) -> None:
        """Cancel, or put away what is finished; phones stay for the next one. Raises `Conflict` for another `run`."""
        with self.lock:
            self._check_run(run)
            self._put_away()
            self.closed_because = None

    def give_up(self, run: str) -> None:
        """Close, if `run` is what the room is open for: who conducted it has gone without a word."""
        with self.lock:
            is_its = self.experiment is not None and self.experiment.run == run
            if is_its and self.phase is not Phase.FINISHED:
                self.close()

    def remove(self, device: str) -> None:
        """Send a device away until the next experiment. Raises `Unknown`."""
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

    # What the runner does. In the name of its `run` it reaches no other experiment, if this one was cancelled meanwhile.

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

    def _put(self, trial: RoomTrial | None) -> None:
        if trial is not None and trial.state != STATE_CONNECT and trial.ends_us is not None:
            self._quiet_until_us = trial.ends_us
        self.trial = trial
        self._changed()

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
