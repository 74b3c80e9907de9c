"""The room while an experiment or a practice round runs: trials, pauses, and who is told what."""

from __future__ import annotations

import pytest

from app.core.errors import Conflict, Unknown
from app.server.room import views
from app.server.room.participant import AWAY_AFTER_US
from app.server.room.phases import Phase
from tests.unit.support_room import ONE_MORE_US, Bench, trial


def test_a_silent_phone_is_not_away_during_a_trial() -> None:
    bench = Bench()
    bench.begin("a", "b")
    ends_us = bench.clock.us + 2 * AWAY_AFTER_US
    bench.room.set_trial(trial("a", "b", state="running", ends_us=ends_us), run="run-1")

    bench.pass_time(2 * AWAY_AFTER_US)
    bench.room.set_trial(None, run="run-1")
    bench.pass_time(AWAY_AFTER_US)
    before = [bench.room.is_away(each) for each in bench.room.present()]
    bench.pass_time(ONE_MORE_US)

    assert before == [False, False]
    assert [bench.room.is_away(each) for each in bench.room.present()] == [True, True]


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

    assert bench.room.current.progress == {**said, "round": 2}


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


def test_a_trial_with_an_absent_phone_is_refused() -> None:
    bench = Bench()
    bench.begin("a", "b")

    with pytest.raises(Unknown, match="stranger"):
        bench.room.set_trial(trial("a", "stranger"), run="run-1")


def test_each_phone_learns_whether_it_takes_part_and_strangers_learn_nothing() -> None:
    bench = Bench()
    bench.begin("a", "b")
    bench.room.set_trial(trial("b"), run="run-1")

    assert views.assignment(bench.room, "a")["trial"]["take_part"] is False
    assert views.assignment(bench.room, "b")["trial"]["take_part"] is True
    assert views.assignment(bench.room, "stranger")["trial"] is None


def test_during_a_trial_phones_are_scheduled_to_poll_one_by_one_after_its_end() -> None:
    bench = Bench()
    bench.begin("a", "b")
    bench.room.set_trial(trial("a", state="running", ends_us=bench.clock.us + 7_000_000), run="run-1")

    waits_ms = [views.assignment(bench.room, device)["poll_after_ms"] for device in ("a", "b")]

    assert waits_ms == [7020, 7040]


def test_a_result_is_visible_to_its_own_phone_only() -> None:
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

    assert bench.room.present()[0].disconnects == 2


def test_the_screen_goes_on_when_a_phone_leaves_in_the_middle_of_a_practice_trial() -> None:
    bench = Bench()
    bench.join("a", "b")
    bench.room.begin_practice("practice-1")
    bench.room.set_practice_trial("practice-1", trial("a", "b"))

    bench.room.leave("a")

    assert views.screen(bench.room)["trial"]["seats"] == [2]
