"""What users of one Locust process share: numbers, what is waited for, and what is kept of a read."""

from __future__ import annotations

from typing import Any

import pytest

from loadtests.recording import REPLAYED, SHARED
from loadtests.session import KNOWN_MAX, NOTHING, Expectation, Session


def notification(seq: int, *, offset: int | None = None, trial: int = 4, run: str = "r") -> dict[str, Any]:
    number = seq + 100 if offset is None else offset
    return {
        "id": f"epoch.{number}",
        "offset": number,
        "data": {"trial": {"run": run, "trial": trial, "seq": seq, "warmup": False}},
    }


class Told:
    """Counts how often it was called."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> None:
        self.times += 1


def a_session(clients: int = 2, *, count: int = 2) -> tuple[Session, Told]:
    """Users that are all connected and wait for trial 4 of run r."""
    complete = Told()
    session = Session(on_complete=complete)
    session.begin("http://127.0.0.1:1", list(range(clients)))
    for _ in range(clients):
        session.accepted(session.join(), "epoch.99", 99, connect_us=500)
    session.expect(Expectation("r", 4, count))
    return session, complete


def test_users_take_the_numbers_that_were_given_in_their_order() -> None:
    session = Session()
    session.begin("http://127.0.0.1:1/", [7, 3, 9])

    assert [session.join().client for _ in range(3)] == [7, 3, 9]


def test_a_session_is_settled_once_all_that_were_wanted_are_in_and_not_before() -> None:
    settled = Told()
    session = Session()
    session.begin("http://127.0.0.1:1", [0, 1])
    session.on_settled = settled
    first = session.join()
    session.accepted(first, "epoch.0", 0, connect_us=1)
    before = settled.times

    session.accepted(session.join(), "epoch.0", 0, connect_us=1)

    assert (before, settled.times) == (0, 1)


def test_a_trial_is_complete_when_everyone_has_everything_and_duplicates_do_not_count() -> None:
    session, complete = a_session()
    first, second = session.members
    everything = session.piece_of([notification(0), notification(1)])

    session.keep(first, session.piece_of([notification(0)]), 10, 5)
    session.keep(first, session.piece_of([notification(0)]), 11, 6)
    session.keep(second, everything, 12, 7)
    before = complete.times
    session.keep(first, session.piece_of([notification(1)]), 13, 8)

    assert (before, complete.times) == (0, 1)
    assert list(session.recording.seq) == [0, 0, 0, 1, 1]  # a duplicate is a row, too


def test_what_belongs_to_another_trial_is_passed_by() -> None:
    session, _complete = a_session()

    heard = session.piece_of(
        [notification(0, trial=3), notification(0, run="other"), {"offset": 5, "id": "e.5"}]
    )

    assert heard.marks == ()
    assert heard.notifications == 3


def test_a_read_with_several_notifications_says_that_its_stamp_is_shared() -> None:
    session, _complete = a_session()
    member = session.members[0]

    session.keep(member, session.piece_of([notification(0), notification(1, trial=3)]), 10, 5)
    session.keep(member, session.piece_of([notification(1)]), 12, 7)

    assert [flags & SHARED for flags in session.recording.flags] == [SHARED, 0]


def test_what_is_older_than_a_new_connection_is_a_replay() -> None:
    session, _complete = a_session()
    member = session.members[0]
    session.keep(member, session.piece_of([notification(0, offset=100)]), 10, 5)

    session.accepted(member, "epoch.101", 101, connect_us=1)  # it came back, and one was published meanwhile
    session.keep(member, session.piece_of([notification(1, offset=101)]), 12, None)

    assert [flags & REPLAYED for flags in session.recording.flags] == [0, REPLAYED]
    assert session.subscription(member).last_event_id == "epoch.101"


def test_the_kernels_stamp_is_put_on_the_monotonic_clock_and_0_means_none() -> None:
    session, _complete = a_session()
    session.kernel_offset_ns = 1000

    session.keep(session.members[0], session.piece_of([notification(0)]), 10, 5)
    session.keep(session.members[0], session.piece_of([notification(1)]), 11, None)

    assert list(session.recording.kernel_ns) == [1005, 0]


def test_a_neutral_source_is_counted_by_offset_from_the_first_one() -> None:
    session, _complete = a_session()
    session.expect(Expectation(None, 0, 2, first_offset=6))

    heard = session.piece_of(
        [{"offset": 5, "id": "f.5"}, {"offset": 6, "id": "f.6"}, {"offset": 7, "id": "f.7"}]
    )

    assert [mark.seq for mark in heard.marks] == [0, 1]


def test_only_those_that_are_connected_are_waited_for() -> None:
    session, complete = a_session(3)
    session.members[2].live = False

    waited_for = session.expect(Expectation("r", 4, 1))
    for member in session.members[:2]:
        session.keep(member, session.piece_of([notification(0)]), 1, 1)

    assert (waited_for, complete.times) == (2, 1)


@pytest.mark.parametrize("last", [0, 1, 2], ids=["one", "another", "who came back"])
def test_who_comes_back_in_the_middle_is_waited_for_beside_the_others(last: int) -> None:
    session, complete = a_session(3)
    away = session.members[2]
    away.live = False
    session.expect(Expectation("r", 4, 1))

    session.accepted(away, "epoch.100", 100, connect_us=1)
    for member in (each for each in session.members if each is not session.members[last]):
        session.keep(member, session.piece_of([notification(0)]), 1, 1)
    before = complete.times
    session.keep(session.members[last], session.piece_of([notification(0)]), 2, 2)

    assert (before, complete.times) == (0, 1)


def test_who_comes_for_the_first_time_in_the_middle_is_not_waited_for() -> None:
    session, complete = a_session(1)
    session.expect(Expectation("r", 4, 1))

    session.accepted(session.join(), "epoch.100", 100, connect_us=1)
    session.keep(session.members[0], session.piece_of([notification(0)]), 1, 1)

    assert complete.times == 1


def test_a_trial_is_complete_once_whoever_comes_back_behind_it() -> None:
    session, complete = a_session(2)
    first, away = session.members
    away.live = False
    session.expect(Expectation("r", 4, 1))
    session.keep(first, session.piece_of([notification(0)]), 1, 1)

    session.accepted(away, "epoch.100", 100, connect_us=1)
    session.keep(away, session.piece_of([notification(0)]), 2, 2)

    assert complete.times == 1


def test_what_is_known_stays_bounded_and_is_forgotten_with_the_trial() -> None:
    session, _complete = a_session()
    for number in range(2 * KNOWN_MAX):
        session.remember(str(number).encode(), NOTHING)
    most = len(session.known)

    session.expect(Expectation("r", 5, 1))

    assert most <= KNOWN_MAX
    assert session.known == {}


def test_a_seq_that_is_no_count_is_no_mark() -> None:
    session, _complete = a_session()

    assert session.piece_of([notification(-1)]).marks == ()


def test_one_notification_that_comes_twice_in_a_read_has_its_stamp_for_itself() -> None:
    session, _complete = a_session()

    session.keep(session.members[0], session.piece_of([notification(0), notification(0)]), 10, 5)

    assert list(session.recording.seq) == [0, 0]
    assert [flags & SHARED for flags in session.recording.flags] == [0, 0]


def test_what_broke_before_a_trial_is_kept_apart_from_what_breaks_in_it() -> None:
    session, _complete = a_session()
    session.begin("http://127.0.0.1:1", [0, 1])
    session.disconnects = 2  # while others connect, and while all are idle

    session.expect(Expectation("r", 5, 1))
    in_the_trial = session.disconnects
    session.disconnects += 1

    assert (session.broken_before, in_the_trial, session.disconnects) == (2, 0, 1)


def test_other_users_begin_with_nothing_broken() -> None:
    session, _complete = a_session()
    session.disconnects = 2
    session.expect(Expectation("r", 5, 1))

    session.begin("http://127.0.0.1:1", [0, 1])
    session.expect(Expectation("r", 6, 1))

    assert (session.broken_before, session.disconnects) == (0, 0)
