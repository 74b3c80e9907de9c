"""The parts of the room, each by itself: attendance, phases, and the run that the room is open for."""

from __future__ import annotations

import pytest

from app.core.errors import Conflict, Unknown
from app.server.room.attendance import PARTICIPANT_SILENCE_US, Attendance
from app.server.room.current_run import RUNNER_SILENCE_US, CurrentRun
from app.server.room.participant import AWAY_AFTER_US
from app.server.room.phase_machine import LATECOMERS_US, PhaseMachine
from app.server.room.phases import Experiment, Phase
from tests.unit.support_room import ONE_MORE_US, StoppedClock, move, trial


@pytest.fixture
def clock() -> StoppedClock:
    return StoppedClock()


@pytest.fixture
def attendance(clock: StoppedClock) -> Attendance:
    return Attendance(now_us=clock)


def join(attendance: Attendance, *devices: str) -> None:
    for device in devices:
        attendance.join(device, name="", model=None, language="en")


def test_a_seat_is_freed_or_kept_when_its_phone_leaves(attendance: Attendance) -> None:
    join(attendance, "a", "b")

    attendance.leave("a", keep_seat=False)
    attendance.leave("b", keep_seat=True)
    attendance.leave("stranger", keep_seat=True)

    assert [each.device for each in attendance.seats] == ["b"]
    assert attendance.present() == []
    assert attendance.version == 4


@pytest.mark.parametrize("keep_seat", [False, True])
def test_a_removed_phone_is_known_as_such(attendance: Attendance, keep_seat: bool) -> None:
    join(attendance, "a", "b")

    attendance.remove("a", keep_seat=keep_seat)

    assert [attendance.was_removed(device) for device in ("a", "b")] == [True, False]
    assert [each.device for each in attendance.present()] == ["b"]
    with pytest.raises(Unknown):
        attendance.remove("stranger", keep_seat=keep_seat)


def test_gathering_anew_keeps_recent_phones_and_forgets_removals(
    attendance: Attendance, clock: StoppedClock
) -> None:
    join(attendance, "old", "removed", "recent")
    attendance.remove("removed", keep_seat=False)
    move(clock, PARTICIPANT_SILENCE_US)
    attendance.report("recent", {})
    move(clock, ONE_MORE_US)

    attendance.begin_gathering()

    assert [(each.device, each.seat) for each in attendance.seats] == [("recent", 1)]
    assert not attendance.was_removed("removed")


def test_who_is_ready_and_awake_takes_part(attendance: Attendance, clock: StoppedClock) -> None:
    join(attendance, "away", "ready", "idle")
    for device in ("away", "ready"):
        attendance.report(device, {"ready": True})
    move(clock, AWAY_AFTER_US + ONE_MORE_US)
    for device in ("ready", "idle"):
        attendance.report(device, {})

    attendance.select_ready()

    assert [each.device for each in attendance.seats if each.taking_part] == ["ready"]
    assert (attendance.ready_count(), attendance.awake_count()) == (1, 2)


def test_silence_is_expected_until_the_trial_ends(attendance: Attendance, clock: StoppedClock) -> None:
    join(attendance, "a")
    attendance.quiet_until_us = clock.us + 10 * AWAY_AFTER_US

    move(clock, 11 * AWAY_AFTER_US)
    before = attendance.awake_count()
    move(clock, ONE_MORE_US)

    assert (before, attendance.awake_count()) == (1, 0)


def test_a_countdown_ends_at_its_time() -> None:
    phases = PhaseMachine()
    phases.begin_countdown(100)

    phases.end_countdown(99)
    before = phases.phase
    phases.end_countdown(100)

    assert (before, phases.phase, phases.countdown_to_us) == (Phase.COUNTDOWN, Phase.RUNNING, None)
    assert phases.is_under_way


def test_a_wanted_pause_ends_with_the_phase() -> None:
    phases = PhaseMachine()
    phases.enter(Phase.RUNNING)
    phases.want_pause()
    before = phases.pause_wanted

    phases.enter(Phase.PAUSED)

    assert (before, phases.pause_wanted, phases.version) == (True, False, 3)


@pytest.mark.parametrize("phase", [each for each in Phase if each is not Phase.GATHERING])
def test_phones_gather_in_one_phase_only(attendance: Attendance, phase: Phase) -> None:
    phases = PhaseMachine()
    phases.enter(phase)
    join(attendance, "a")
    attendance.report("a", {"ready": True})

    assert not phases.has_gathered(0, attendance, wanted_count=1)


def test_latecomers_have_their_time_again_when_too_few_are_ready_meanwhile(attendance: Attendance) -> None:
    phases = PhaseMachine()
    phases.enter(Phase.GATHERING)
    join(attendance, "a", "late")

    found = []
    for now_us, is_ready in (
        (0, True),
        (1, False),
        (2, True),
        (LATECOMERS_US, True),
        (LATECOMERS_US + 2, True),
    ):
        attendance.report("a", {"ready": is_ready})
        found.append(phases.has_gathered(now_us, attendance, wanted_count=1))

    assert found == [False, False, False, False, True]
    assert not phases.has_gathered(2 * LATECOMERS_US, attendance, wanted_count=None)


def test_a_run_is_checked_by_its_name() -> None:
    current = CurrentRun()
    current.check_run(None)
    with pytest.raises(Conflict):
        current.check_run("run-1")

    current.open(Experiment("run-1", 2, 60.0))

    current.check_run("run-1")
    with pytest.raises(Conflict, match="run-2"):
        current.check_run("run-2")


def test_a_run_leaves_nothing_to_the_next_one() -> None:
    current = CurrentRun()
    current.open(Experiment("run-1", 2, 60.0))
    current.set_trial(trial("a"))
    current.update_progress({"round": 1, "rounds": None})
    assert current.progress == {"round": 1}
    current.finish({"results": {"a": "url", "b": "url"}})
    current.forget("a")
    assert (current.trial, current.result) == (None, {"results": {"b": "url"}})
    current.note_runner_alive("run-1", 1)

    current.open(Experiment("run-2", 2, 60.0))

    assert (current.trial, current.result, current.progress) == (None, None, {})
    assert not current.is_polled
    assert [current.has_ended(run) for run in ("run-1", "run-2")] == [True, False]


def test_only_a_runner_that_was_seen_can_fall_silent() -> None:
    current = CurrentRun()
    current.open(Experiment("run-1", 2, 60.0))
    current.note_runner_alive("run-0", 5)
    assert not current.is_runner_silent(10 * RUNNER_SILENCE_US, quiet_until_us=0)

    current.note_runner_alive("run-1", 5)

    assert not current.is_runner_silent(5 + RUNNER_SILENCE_US, quiet_until_us=0)
    assert current.is_runner_silent(6 + RUNNER_SILENCE_US, quiet_until_us=0)
    assert not current.is_runner_silent(6 + RUNNER_SILENCE_US, quiet_until_us=6)
