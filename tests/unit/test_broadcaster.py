"""Rounds of writing: who publishes amid one helps, and nothing is kept that everybody has."""

from __future__ import annotations

from typing import Any, cast

import pytest

from app import clock
from app.server.fanout.batch_sender import Pause
from app.server.fanout.channel import Channel
from app.server.fanout.flusher import (
    HELP_SHARE,
    MERGE_US_MAX,
    TURN_SHARE,
    Flusher,
)
from app.server.fanout.ring import LOT_MAX
from tests.unit.test_outlet import FakeLoop, FakeSocket, Probe

NO_END = Pause(lambda: False)
"""Of a turn that only ends because it has done enough."""


ONE_LOT = Pause(lambda: True)
"""Of a turn that has no more time."""

FRAME = b"<frame>"

WHOLE_LOTS = int(4 * HELP_SHARE) * LOT_MAX
"""Members of whom a share is whole lots."""


class Stage:
    """An audience that reads all, and of whose writing every turn is the test's."""

    def __init__(self, members: int) -> None:
        self.broadcaster = Flusher(cast(Any, FakeLoop()), frames_max=10_000, bytes_max=10_000_000)
        self.audience = Channel()
        self.sockets = [FakeSocket(number) for number in range(members)]
        for sock in self.sockets:
            sock.room = 10**6
            outlet = Probe(self.broadcaster, sock)
            outlet.open()
            outlet.join(self.audience)

    def publish(self) -> None:
        with self.broadcaster.lock:
            self.broadcaster.append(self.audience, FRAME)

    def begin_a_round(self) -> None:
        """A lot is written, the rest is left."""
        self.publish()
        assert self.broadcaster._take_a_turn(ONE_LOT)

    def help(self) -> bool:
        return self.broadcaster._take_a_turn(NO_END, is_help=True)

    @property
    def writes(self) -> int:
        return sum(sock.send_count for sock in self.sockets)


@pytest.mark.parametrize("members", [WHOLE_LOTS, 2 * WHOLE_LOTS])
def test_who_publishes_amid_a_round_writes_a_share_of_it_whatever_its_size(members: int) -> None:
    stage = Stage(members)
    stage.begin_a_round()

    stage.publish()
    stage.help()

    assert stage.writes == 2 * members // HELP_SHARE, "its own and that of the publish which began the round"


def test_what_others_wrote_since_the_last_publish_is_not_asked_of_the_next() -> None:
    stage = Stage(WHOLE_LOTS)
    stage.begin_a_round()
    while stage.broadcaster._take_a_turn(ONE_LOT) and stage.writes < WHOLE_LOTS - LOT_MAX:
        pass
    written = stage.writes

    stage.publish()
    stage.help()

    assert stage.writes == written + WHOLE_LOTS // HELP_SHARE


def test_the_broadcaster_writes_nothing_of_its_own_beside_publishers_that_do_and_all_of_it_afterwards() -> (
    None
):
    stage = Stage(WHOLE_LOTS)
    broadcaster = stage.broadcaster
    broadcaster._is_rung = True
    stage.begin_a_round()
    for _ in range(3):
        stage.publish()
        broadcaster.write()
        written = stage.writes
        assert broadcaster._take_own_turn(), "its turn is left to the publisher"
        assert stage.writes == written

    while broadcaster._take_own_turn():
        pass

    assert [sock.taken for sock in stage.sockets] == [FRAME * 4] * WHOLE_LOTS


def test_help_that_ends_with_a_round_leaves_the_next_one_under_way() -> None:
    """Else whoever publishes next would find none, and write nothing."""
    stage = Stage(WHOLE_LOTS)
    broadcaster = stage.broadcaster
    broadcaster._is_rung = True
    stage.begin_a_round()
    for _ in range(int(2 * HELP_SHARE)):
        stage.publish()
        before = stage.writes
        broadcaster.write()
        assert stage.writes > before
        assert broadcaster._round is not None

    while broadcaster._take_own_turn():
        pass

    assert [sock.taken for sock in stage.sockets] == [FRAME * (int(2 * HELP_SHARE) + 1)] * WHOLE_LOTS
    assert broadcaster._round is None


def test_help_ends_with_the_last_write() -> None:
    members = LOT_MAX + 16
    stage = Stage(members)
    stage.begin_a_round()
    for _ in range(20):
        stage.publish()

    assert not stage.help()

    assert [sock.taken for sock in stage.sockets] == [FRAME * 21] * members


def test_once_somebody_published_into_a_round_turns_are_a_share_of_it_and_whole_again_afterwards() -> None:
    """However fast a machine sends: what comes between two turns joins the round."""
    members = int(2 * HELP_SHARE) * TURN_SHARE * LOT_MAX
    stage = Stage(members)
    broadcaster = stage.broadcaster
    broadcaster._is_rung = True
    stage.begin_a_round()
    broadcaster._owed = 0  # Or its share and the next one's are the round.
    stage.publish()
    broadcaster.write()
    helped = stage.writes

    assert broadcaster._take_a_turn(NO_END)
    assert stage.writes == helped + members // TURN_SHARE

    while broadcaster._take_a_turn(NO_END):
        pass
    stage.publish()
    assert not broadcaster._take_a_turn(NO_END), "nobody publishes meanwhile: all in one turn"
    assert [sock.taken for sock in stage.sockets] == [FRAME * 3] * members


@pytest.mark.parametrize("members", [2, WHOLE_LOTS])
def test_what_waits_too_long_for_the_broadcasters_own_turn_is_written_by_the_next_who_publishes(
    members: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_us = 10**9
    monkeypatch.setattr(clock, "monotonic_us", lambda: now_us)
    stage = Stage(members)
    stage.broadcaster._is_rung = True  # Its thread is to write, and has not run.
    stage.publish()
    now_us += MERGE_US_MAX - 1
    stage.publish()
    stage.broadcaster.write()
    merged = stage.writes
    now_us += 1
    stage.publish()
    stage.broadcaster.write()

    assert merged == 0, "back to back: one write later on"
    assert stage.writes == min(members, 3 * members // HELP_SHARE)
    assert stage.sockets[1].taken == FRAME * 3


def test_a_publisher_that_never_pauses_leaves_nothing_behind_that_everybody_has() -> None:
    """No round of a long burst ends with everybody at the stream's end."""
    stage = Stage(LOT_MAX * 3)
    stage.begin_a_round()
    for _ in range(100):
        stage.publish()
        assert stage.broadcaster._take_a_turn(ONE_LOT)

    assert stage.audience.stream.frame_count <= 5
    while stage.broadcaster._take_a_turn(NO_END):
        pass
    assert [sock.taken for sock in stage.sockets] == [FRAME * 101] * len(stage.sockets)


def test_nobody_waits_for_two_rounds_while_they_follow_each_other() -> None:
    """Writes to others between two of the same connection, while there is always more to write."""
    members = 3 * LOT_MAX
    stage = Stage(members)
    stage.publish()
    sends = [0] * members
    last_at = [0] * members
    between = []

    for _ in range(30):
        assert stage.broadcaster._take_a_turn(ONE_LOT)
        for number, sock in enumerate(stage.sockets):
            if sock.send_count > sends[number]:
                between.append(stage.writes - last_at[number])
                sends[number], last_at[number] = sock.send_count, stage.writes
        stage.publish()

    assert max(between) <= members + LOT_MAX, "a turn at the most beside those of a round"


def test_between_two_rounds_with_a_rest_another_one_comes_first() -> None:
    stage = Stage(3)
    first = []

    for _ in range(4):
        stage.publish()
        first.append(stage.audience.in_turn()[1])
        assert not stage.broadcaster._take_a_turn(NO_END)

    assert first == [0, 1, 2, 0]


def test_a_turn_ends_in_time_among_many_small_audiences_too() -> None:
    """Clients may choose topics of their own, which makes an audience of each."""
    broadcaster = Flusher(cast(Any, FakeLoop()), frames_max=10, bytes_max=1_000)
    sockets = [FakeSocket(number) for number in range(3)]
    for sock in sockets:
        sock.room = 1_000
        outlet, audience = Probe(broadcaster, sock), Channel()
        outlet.open()
        outlet.join(audience)
        with broadcaster.lock:
            broadcaster.append(audience, FRAME)

    in_turns = [broadcaster._take_a_turn(ONE_LOT) for _ in sockets]

    assert in_turns == [True, True, False]
    assert [sock.taken for sock in sockets] == [FRAME] * 3


def test_a_bug_in_writing_to_one_connection_ends_that_one(caplog: pytest.LogCaptureFixture) -> None:
    stage = Stage(3)
    stage.sockets[1].failure = ValueError("a bug")

    stage.publish()
    assert not stage.broadcaster._take_a_turn(NO_END)

    assert [record.message for record in caplog.records] == ["Writing to a connection failed; closed."]
    assert [(sock.taken, sock.is_closed) for sock in stage.sockets] == [
        (FRAME, False),
        (b"", True),
        (FRAME, False),
    ]
