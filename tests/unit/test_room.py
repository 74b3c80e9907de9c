"""Who gets into the room, on which seat, and when the experiment begins."""

from __future__ import annotations

import itertools
import sys
import threading

import pytest

from app.core.errors import Conflict, Unknown
from app.server.room import views
from app.server.room.attendance import PARTICIPANT_SILENCE_US
from app.server.room.participant import AWAY_AFTER_US
from app.server.room.phase_machine import COUNTDOWN_US, LATECOMERS_US
from app.server.room.phases import Experiment, Phase
from app.server.room.seats import PARTICIPANTS_MAX
from tests.unit.support_room import ONE_MORE_US, Bench


def test_it_starts_by_itself_when_as_many_as_wanted_are_ready() -> None:
    bench = Bench(wanted_count=2)
    bench.join("a", "b")

    bench.ready("a")
    before = bench.room.phase
    bench.ready("b")

    assert (before, bench.room.phase) == (Phase.GATHERING, Phase.COUNTDOWN)
    assert bench.room.phases.countdown_to_us == bench.clock.us + COUNTDOWN_US


def test_the_countdown_ends_in_a_running_experiment() -> None:
    bench = Bench(wanted_count=1)
    bench.join("a")
    bench.ready("a")
    assert bench.room.phase is Phase.COUNTDOWN

    bench.pass_time(COUNTDOWN_US - ONE_MORE_US)
    before = bench.room.phase
    bench.pass_time(ONE_MORE_US)

    assert (before, bench.room.phase) == (Phase.COUNTDOWN, Phase.RUNNING)
    assert bench.room.phases.countdown_to_us is None


def test_enough_phones_wait_for_a_latecomer_and_not_for_ever() -> None:
    bench = Bench(wanted_count=2)
    bench.join("a", "b", "late")
    bench.ready("a", "b")

    before = bench.room.phase
    bench.pass_time(LATECOMERS_US, heard_of=("a", "b", "late"))

    assert (before, bench.room.phase) == (Phase.GATHERING, Phase.COUNTDOWN)
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

    assert [bench.room.is_away(each) for each in bench.room.present()] == [True, False]
    assert bench.room.ready_count() == 1
    assert bench.seats() == {"a": 1, "b": 2}
    bench.room.report("a", {})
    assert bench.room.ready_count() == 2


def test_a_room_counts_no_absent_or_removed_phone_as_ready() -> None:
    bench = Bench(wanted_count=6)
    bench.join("away", "left", "removed", "here")
    bench.ready("away", "left", "removed", "here")
    bench.room.leave("left")
    bench.room.remove("removed")

    bench.pass_time(AWAY_AFTER_US + ONE_MORE_US, heard_of=("here",))

    for seen in (views.screen(bench.room), views.operator(bench.room), views.assignment(bench.room, "here")):
        assert (seen["joined_count"], seen["ready_count"]) == (2, 1)


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


def test_a_removed_phone_is_informed_and_stays_out_until_the_next_experiment() -> None:
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
    gone = [each.device for each in bench.room.present()]
    bench.join("a")

    assert gone == ["b"]
    assert bench.seats() == {"a": 1, "b": 2}


def test_removing_an_absent_phone_is_an_error() -> None:
    with pytest.raises(Unknown):
        Bench().room.remove("nobody")


def test_one_experiment_at_a_time() -> None:
    bench = Bench()

    with pytest.raises(Conflict, match="open already"):
        bench.room.open(Experiment("run-2", 1, 1.0))


def test_present_phones_stay_for_the_next_experiment_and_confirm_again() -> None:
    bench = Bench(wanted_count=3)
    bench.begin("a", "b", "c")
    bench.room.report("b", {"trial_ready": 4, "trial_done": 4})
    bench.room.finish({}, run="run-1")

    bench.pass_time(PARTICIPANT_SILENCE_US, heard_of=("b", "c"))
    bench.pass_time(ONE_MORE_US)
    bench.room.open(Experiment("run-2", 2, 60.0))

    assert bench.seats() == {"b": 1, "c": 2}
    assert bench.room.phase is Phase.GATHERING
    first = bench.room.present()[0]
    assert (first.ready, first.taking_part, first.trial_ready, first.trial_done) == (False, False, None, None)


def test_the_room_is_full_in_words() -> None:
    bench = Bench(wanted_count=1)
    bench.join(*(f"d-{number}" for number in range(PARTICIPANTS_MAX)))

    with pytest.raises(Conflict, match="full"):
        bench.join("one-more")


def test_friendly_names_are_different_for_a_room_full_of_phones() -> None:
    bench = Bench(wanted_count=1)
    bench.join(*(f"d-{number}" for number in range(PARTICIPANTS_MAX)))

    names = {each.name.casefold() for each in bench.room.present()}

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
