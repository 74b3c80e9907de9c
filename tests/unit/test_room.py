"""The room's phases, seats and silences, with a clock that stands until a test moves it."""

from __future__ import annotations

import itertools
import sys
import threading
from typing import Any

import pytest

from app.core.errors import Conflict, Unknown
from app.room import views
from app.room.participant import AWAY_AFTER_US
from app.room.phases import Experiment, Phase
from app.room.room import (
    COUNTDOWN_US,
    LATECOMERS_US,
    OVER_KEPT_MAX,
    REMEMBERED_US,
    RUNNER_SILENCE_US,
    RUNNER_SILENT,
    Room,
)
from app.room.seats import PARTICIPANTS_MAX
from app.room.trial import RoomTrial

ONE_MORE_US = 1


class StoppedClock:
    def __init__(self) -> None:
        self.us = 1_000_000_000

    def __call__(self) -> int:
        return self.us


class Bench:
    """A room that gathers, and what tests do with it."""

    def __init__(self, *, wanted_count: int = 2) -> None:
        self.clock = StoppedClock()
        self.room = Room(now_us=self.clock)
        self.room.open(Experiment("run-1", wanted_count, 60.0))

    def join(self, *devices: str) -> None:
        for device in devices:
            self.room.join(device, name="", model=None, language="en")

    def ready(self, *devices: str) -> None:
        for device in devices:
            self.room.report(device, {"ready": True})

    def pass_time(self, us: int, *, heard_of: tuple[str, ...] = ()) -> None:
        self.clock.us += us
        for device in heard_of:
            self.room.report(device, {})

    def begin(self, *devices: str) -> None:
        """Up to the running experiment."""
        self.join(*devices)
        self.ready(*devices)
        self.room.start() if self.room.phase is Phase.GATHERING else None
        self.pass_time(COUNTDOWN_US, heard_of=devices)
        assert self.room.phase is Phase.RUNNING

    def seats(self) -> dict[str, int]:
        return {each.device: each.seat for each in self.room.here()}


def trial(*devices: str, **members: Any) -> RoomTrial:
    given: dict[str, Any] = {
        "index": 0,
        "block": 0,
        "clients": len(devices),
        "transport": "sse",
        "expected_count": 3,
        "warmup_count": 1,
        "rate_hz": 5.0,
        "drain_ms": 100,
        "topic": "trial.0",
        "factors": {},
        "state": "connect",
        "participants": frozenset(devices),
    }
    return RoomTrial(**{**given, **members})


def test_it_starts_by_itself_when_as_many_as_wanted_are_ready() -> None:
    bench = Bench(wanted_count=2)
    bench.join("a", "b")

    bench.ready("a")
    before = bench.room.phase
    bench.ready("b")

    assert (before, bench.room.phase) == (Phase.GATHERING, Phase.COUNTDOWN)
    assert bench.room.countdown_to_us == bench.clock.us + COUNTDOWN_US


def test_the_countdown_ends_in_a_running_experiment() -> None:
    bench = Bench(wanted_count=1)
    bench.join("a")
    bench.ready("a")
    assert bench.room.phase is Phase.COUNTDOWN

    bench.pass_time(COUNTDOWN_US - ONE_MORE_US)
    before = bench.room.phase
    bench.pass_time(ONE_MORE_US)

    assert (before, bench.room.phase) == (Phase.COUNTDOWN, Phase.RUNNING)
    assert bench.room.countdown_to_us is None


def test_enough_phones_wait_for_a_latecomer_and_not_for_ever() -> None:
    bench = Bench(wanted_count=2)
    bench.join("a", "b", "late")
    bench.ready("a", "b")

    assert bench.room.phase is Phase.GATHERING
    bench.pass_time(LATECOMERS_US, heard_of=("a", "b", "late"))

    assert bench.room.phase is Phase.COUNTDOWN
    assert [each.device for each in bench.room.seats if each.taking_part] == ["a", "b"]


def test_the_operator_starts_with_fewer_but_not_with_nobody() -> None:
    bench = Bench(wanted_count=6)
    bench.join("a", "b")

    with pytest.raises(Conflict, match="No phone is ready"):
        bench.room.start()
    bench.ready("b")
    bench.room.start()

    assert bench.room.phase is Phase.COUNTDOWN
    assert [each.device for each in bench.room.seats if each.taking_part] == ["b"]


def test_a_silent_phone_is_away_and_keeps_its_seat() -> None:
    bench = Bench(wanted_count=6)
    bench.join("a", "b")
    bench.ready("a", "b")

    bench.pass_time(AWAY_AFTER_US + ONE_MORE_US, heard_of=("b",))

    assert [bench.room.is_away(each) for each in bench.room.here()] == [True, False]
    assert bench.room.ready_count() == 1
    assert bench.seats() == {"a": 1, "b": 2}
    bench.room.report("a", {})
    assert bench.room.ready_count() == 2


def test_nobody_is_away_for_being_silent_during_a_trial() -> None:
    bench = Bench()
    bench.begin("a", "b")
    ends_us = bench.clock.us + 2 * AWAY_AFTER_US
    bench.room.set_trial(trial("a", "b", state="running", ends_us=ends_us), run="run-1")

    bench.pass_time(2 * AWAY_AFTER_US)
    bench.room.set_trial(None, run="run-1")
    bench.pass_time(AWAY_AFTER_US)
    before = [bench.room.is_away(each) for each in bench.room.here()]
    bench.pass_time(ONE_MORE_US)

    assert before == [False, False]
    assert [bench.room.is_away(each) for each in bench.room.here()] == [True, True]


def test_a_phone_that_comes_back_has_its_seat_and_its_name() -> None:
    bench = Bench()
    bench.begin("a", "b")
    name = bench.room.name_of("b")

    again = bench.room.join("b", name="", model=None, language="id")

    assert (again.seat, again.name) == (2, name)


@pytest.mark.parametrize("phase", ["closed", "running", "finished"])
def test_a_stranger_cannot_join_but_while_phones_gather(phase: str) -> None:
    bench = Bench()
    if phase != "closed":
        bench.begin("a", "b")
    if phase == "finished":
        bench.room.finish({}, run="run-1")
    if phase == "closed":
        bench.room.close()

    with pytest.raises(Conflict):
        bench.join("stranger")


def test_a_seat_that_was_given_up_while_phones_gather_is_taken_by_the_next() -> None:
    bench = Bench(wanted_count=6)
    bench.join("a", "b", "c")

    bench.room.leave("a")
    bench.room.remove("b")
    bench.join("d", "e")

    assert bench.seats() == {"d": 1, "e": 2, "c": 3}


def test_a_removed_phone_is_told_and_stays_out_until_the_next_experiment() -> None:
    bench = Bench(wanted_count=6)
    bench.join("a", "b")

    bench.room.remove("a")

    assert views.assignment(bench.room, "a")["you"]["removed"]
    assert views.assignment(bench.room, "a")["trial"] is None
    with pytest.raises(Conflict, match="removed"):
        bench.join("a")
    bench.room.close()
    bench.room.open(Experiment("run-2", 6, 60.0))
    bench.join("a")
    assert bench.seats() == {"b": 1, "a": 2}


def test_a_phone_that_is_removed_in_the_middle_keeps_its_seat_for_what_it_measured() -> None:
    bench = Bench()
    bench.begin("a", "b")

    bench.room.remove("a")

    assert views.assignment(bench.room, "a")["you"] == {
        "device": "a",
        "name": bench.room.name_of("a"),
        "seat": 1,
        "joined": False,
        "removed": True,
    }
    with pytest.raises(Conflict, match="removed"):
        bench.join("a")


def test_a_phone_that_left_in_the_middle_may_come_back() -> None:
    bench = Bench()
    bench.begin("a", "b")

    bench.room.leave("a")
    gone = [each.device for each in bench.room.here()]
    bench.join("a")

    assert gone == ["b"]
    assert bench.seats() == {"a": 1, "b": 2}


def test_to_remove_who_is_not_there_is_an_error() -> None:
    with pytest.raises(Unknown):
        Bench().room.remove("nobody")


def test_a_pause_begins_between_trials_and_the_runner_cannot_end_it() -> None:
    bench = Bench()
    bench.begin("a", "b")
    bench.room.set_trial(trial("a"), run="run-1")

    bench.room.pause()
    during = bench.room.phase
    bench.room.set_trial(None, run="run-1")
    bench.room.set_progress({"round": 1}, phase=Phase.RUNNING, run="run-1")

    assert (during, bench.room.phase) == (Phase.RUNNING, Phase.PAUSED)
    bench.room.resume()
    assert bench.room.phase is Phase.RUNNING


def test_progress_that_says_less_keeps_what_was_said_before() -> None:
    bench = Bench()
    bench.begin("a", "b")
    said = {"round": 1, "rounds": 4, "results": {"sse": {}}}
    bench.room.set_progress(said, run="run-1")

    bench.room.set_progress({"round": 2, "rounds": None, "results": None}, run="run-1")

    assert bench.room.progress == {**said, "round": 2}


def test_a_pause_that_has_not_begun_can_be_taken_back() -> None:
    bench = Bench()
    bench.begin("a", "b")
    bench.room.set_trial(trial("a"), run="run-1")
    bench.room.pause()

    bench.room.resume()
    bench.room.set_trial(None, run="run-1")

    assert bench.room.phase is Phase.RUNNING


@pytest.mark.parametrize("act", ["pause", "resume", "start"])
def test_what_does_not_fit_the_phase_is_refused_in_words(act: str) -> None:
    bench = Bench()
    bench.room.close()

    with pytest.raises(Conflict, match="The room is closed"):
        getattr(bench.room, act)()


def test_one_experiment_at_a_time() -> None:
    bench = Bench()

    with pytest.raises(Conflict, match="open already"):
        bench.room.open(Experiment("run-2", 1, 1.0))


def test_who_is_here_stays_for_the_next_experiment_and_says_again_that_it_is_ready() -> None:
    bench = Bench(wanted_count=3)
    bench.begin("a", "b", "c")
    bench.room.report("b", {"trial_ready": 4, "trial_done": 4})
    bench.room.finish({}, run="run-1")

    bench.pass_time(REMEMBERED_US, heard_of=("b", "c"))
    bench.pass_time(ONE_MORE_US)
    bench.room.open(Experiment("run-2", 2, 60.0))

    assert bench.seats() == {"b": 1, "c": 2}
    assert bench.room.phase is Phase.GATHERING
    first = bench.room.here()[0]
    assert (first.ready, first.taking_part, first.trial_ready, first.trial_done) == (False, False, None, None)


def test_the_room_is_full_in_words() -> None:
    bench = Bench(wanted_count=1)
    bench.join(*(f"d-{number}" for number in range(PARTICIPANTS_MAX)))

    with pytest.raises(Conflict, match="full"):
        bench.join("one-more")


def test_friendly_names_are_different_for_a_room_full_of_phones() -> None:
    bench = Bench(wanted_count=1)
    bench.join(*(f"d-{number}" for number in range(PARTICIPANTS_MAX)))

    names = {each.name.casefold() for each in bench.room.here()}

    assert len(names) == PARTICIPANTS_MAX


def test_every_change_that_others_can_see_raises_the_version_and_a_figure_does_not() -> None:
    bench = Bench(wanted_count=6)
    bench.join("a")
    versions = [bench.room.version]

    for report in (
        {"rtt_ms": 3.0},
        {"visible": True},
        {"visible": False},
        {"name": "Bo"},
        {"checks": {"sse": "ok"}},
    ):
        bench.room.report("a", report)
        versions.append(bench.room.version)

    raised = [after > before for before, after in itertools.pairwise(versions)]
    assert raised == [False, False, True, True, True]


def test_a_trial_of_somebody_who_is_not_here_is_refused() -> None:
    bench = Bench()
    bench.begin("a", "b")

    with pytest.raises(Unknown, match="stranger"):
        bench.room.set_trial(trial("a", "stranger"), run="run-1")


def test_each_phone_is_told_whether_it_takes_part_and_strangers_are_told_nothing() -> None:
    bench = Bench()
    bench.begin("a", "b")
    bench.room.set_trial(trial("b"), run="run-1")

    assert views.assignment(bench.room, "a")["trial"]["take_part"] is False
    assert views.assignment(bench.room, "b")["trial"]["take_part"] is True
    assert views.assignment(bench.room, "stranger")["trial"] is None


def test_while_a_trial_runs_phones_are_told_to_ask_behind_its_end_one_after_the_other() -> None:
    bench = Bench()
    bench.begin("a", "b")
    bench.room.set_trial(trial("a", state="running", ends_us=bench.clock.us + 7_000_000), run="run-1")

    waits_ms = [views.assignment(bench.room, device)["poll_after_ms"] for device in ("a", "b")]

    assert waits_ms == [7020, 7040]


def test_a_result_is_told_to_its_own_phone_only() -> None:
    bench = Bench()
    bench.begin("a", "b")

    bench.room.finish({"verdict": {}, "results": {"a": "/results/run-1/key-of-a"}}, run="run-1")

    assert views.assignment(bench.room, "a")["result_url"] == "/results/run-1/key-of-a"
    assert views.assignment(bench.room, "b")["result_url"] is None
    assert "key-of-a" not in repr(views.screen(bench.room))


def test_the_screen_knows_seats_and_no_devices() -> None:
    bench = Bench()
    bench.begin("device-a", "device-b")
    bench.room.set_trial(trial("device-b"), run="run-1")

    shown = views.screen(bench.room)

    assert "device-" not in repr(shown)
    assert shown["trial"]["seats"] == [2]


def test_practice_leaves_the_phase_alone_and_keeps_the_experiment_from_starting() -> None:
    bench = Bench(wanted_count=1)
    bench.join("a")
    bench.room.begin_practice("practice-1")

    bench.ready("a")
    bench.room.set_practice_trial("practice-1", trial("a"))
    told = views.assignment(bench.room, "a")

    assert (told["phase"], told["practice"], told["run"]) == (Phase.GATHERING, True, "practice-1")
    assert told["trial"]["take_part"]
    with pytest.raises(Conflict, match="practice"):
        bench.room.start()
    bench.room.end_practice("practice-1")
    assert bench.room.phase is Phase.COUNTDOWN
    assert views.assignment(bench.room, "a")["run"] == "run-1"


def test_a_room_that_is_closed_ends_its_practice_round() -> None:
    bench = Bench()
    bench.join("a")
    bench.room.begin_practice("practice-1")

    bench.room.close()

    with pytest.raises(Conflict, match="ended"):
        bench.room.set_practice_trial("practice-1", trial("a"))


def test_losing_the_transport_of_a_trial_is_counted() -> None:
    bench = Bench()
    bench.begin("a", "b")

    for connected in (True, False, False, True, False):
        bench.room.report("a", {"connected": connected})

    assert bench.room.here()[0].disconnects == 2


@pytest.mark.parametrize("act", ["set_trial", "set_progress", "finish", "close"])
def test_what_a_cancelled_runner_says_late_does_not_reach_the_next_experiment(act: str) -> None:
    bench = Bench()
    bench.room.close()
    bench.room.open(Experiment("run-2", 2, 60.0))

    with pytest.raises(Conflict, match="run-1"):
        {
            "set_trial": lambda: bench.room.set_trial(None, run="run-1"),
            "set_progress": lambda: bench.room.set_progress({"round": 9}, run="run-1"),
            "finish": lambda: bench.room.finish({}, run="run-1"),
            "close": lambda: bench.room.close(run="run-1"),
        }[act]()

    assert bench.room.phase is Phase.GATHERING
    assert bench.room.progress == {}


def test_a_room_that_is_closed_already_is_closed_again_in_peace() -> None:
    bench = Bench()
    bench.room.close()

    bench.room.close()

    assert bench.room.phase is Phase.CLOSED


@pytest.mark.parametrize("end", ["finish", "close"])
def test_a_run_that_has_ended_takes_nothing_more_even_when_the_next_one_is_open(end: str) -> None:
    bench = Bench()
    bench.join("a")
    was_over = bench.room.is_over("run-1")
    bench.room.finish({}, run="run-1") if end == "finish" else bench.room.close()
    at_end = bench.room.is_over("run-1")
    bench.room.close()
    bench.room.open(Experiment("run-2", 2, 60.0))

    assert (was_over, at_end, bench.room.is_over("run-1")) == (False, True, True)
    assert not bench.room.is_over("run-2")


def test_runs_that_have_ended_are_remembered_up_to_a_bound() -> None:
    bench = Bench()
    for number in range(2 * OVER_KEPT_MAX):
        bench.room.close()
        bench.room.open(Experiment(f"again-{number}", 2, 60.0))

    found = [number for number in range(2 * OVER_KEPT_MAX) if bench.room.is_over(f"again-{number}")]

    assert len(found) == OVER_KEPT_MAX
    assert found[-1] == 2 * OVER_KEPT_MAX - 2


def test_the_screen_goes_on_when_a_phone_leaves_in_the_middle_of_a_practice_trial() -> None:
    bench = Bench()
    bench.join("a", "b")
    bench.room.begin_practice("practice-1")
    bench.room.set_practice_trial("practice-1", trial("a", "b"))

    bench.room.leave("a")

    assert views.screen(bench.room)["trial"]["seats"] == [2]


def test_a_name_can_be_proposed_while_others_come_and_go() -> None:
    bench = Bench()
    bench.join(*(f"s-{number}" for number in range(100)))
    is_over = threading.Event()

    def come_and_go() -> None:
        while not is_over.is_set():
            bench.room.join("d-1", name="Siti", model=None, language="en")
            bench.room.leave("d-1")

    others = threading.Thread(target=come_and_go)
    switch_s = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # Threads get into each other's way as often as they can.
    others.start()
    try:
        names = {bench.room.proposed_name("d-new", "en") for _ in range(5000)}
    finally:
        is_over.set()
        others.join()
        sys.setswitchinterval(switch_s)

    assert all(names)


def test_a_room_whose_runner_fell_silent_closes_and_says_so() -> None:
    bench = Bench()
    bench.room.hear_runner("run-1")
    bench.begin("a", "b")
    bench.room.hear_runner("run-1")

    bench.pass_time(RUNNER_SILENCE_US)
    before = bench.room.phase
    bench.pass_time(ONE_MORE_US, heard_of=("a", "b"))
    told = views.assignment(bench.room, "a")

    assert before is Phase.RUNNING
    assert (told["phase"], told["closed_because"]) == (Phase.CLOSED, RUNNER_SILENT)
    assert bench.room.is_over("run-1")
    bench.room.open(Experiment("run-2", 2, 60.0))
    assert views.assignment(bench.room, "a")["closed_because"] is None


def test_a_runner_is_not_missed_while_it_measures() -> None:
    bench = Bench()
    bench.room.hear_runner("run-1")
    bench.begin("a", "b")
    bench.room.hear_runner("run-1")
    ends_us = bench.clock.us + 5 * RUNNER_SILENCE_US
    bench.room.set_trial(trial("a", "b", state="running", ends_us=ends_us), run="run-1")

    bench.pass_time(6 * RUNNER_SILENCE_US)
    within = bench.room.phase
    bench.pass_time(ONE_MORE_US)

    assert (within, bench.room.phase) == (Phase.RUNNING, Phase.CLOSED)


def test_what_a_runner_sends_is_a_sign_of_life_too() -> None:
    bench = Bench()
    bench.room.hear_runner("run-1")

    for _ in range(3):
        bench.pass_time(RUNNER_SILENCE_US)
        bench.room.set_progress({"round": 1}, run="run-1")

    assert bench.room.phase is Phase.GATHERING


def test_a_room_that_no_runner_looks_after_stays_open() -> None:
    """A script may open it and come back for it."""
    bench = Bench()

    bench.pass_time(100 * RUNNER_SILENCE_US)

    assert bench.room.phase is Phase.GATHERING


def test_who_speaks_for_another_run_is_no_sign_of_life() -> None:
    bench = Bench()
    bench.room.hear_runner("run-1")

    bench.pass_time(RUNNER_SILENCE_US)
    bench.room.hear_runner("run-0")
    bench.pass_time(ONE_MORE_US)

    assert bench.room.phase is Phase.CLOSED
