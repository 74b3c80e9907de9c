"""Rounds of the flusher: backpressure on publishers, slices, and the frames that a channel keeps."""

from __future__ import annotations

from typing import Any, cast

import pytest

from app import clock
from app.server.fanout.batch_sender import Pause
from app.server.fanout.channel import Channel
from app.server.fanout.flusher import (
    MERGE_US_MAX,
    PUBLISHER_SHARE,
    SLICE_SHARE,
    Flusher,
)
from app.server.fanout.ring import BATCH_MAX
from tests.unit.test_connection import FakeLoop, FakeSocket, Probe

NO_END = Pause(lambda: False)
"""For a slice that only ends when it has written enough."""


ONE_BATCH = Pause(lambda: True)
"""For a slice that has no time left."""

FRAME = b"<frame>"

WHOLE_BATCHES = int(4 * PUBLISHER_SHARE) * BATCH_MAX
"""Members whose publisher share is a whole number of batches."""


class Stage:
    """A channel whose members take everything; the test runs each slice."""

    def __init__(self, members: int) -> None:
        self.flusher = Flusher(cast(Any, FakeLoop()), frames_max=10_000, bytes_max=10_000_000)
        self.channel = Channel()
        self.sockets = [FakeSocket(number) for number in range(members)]
        for sock in self.sockets:
            sock.room = 10**6
            connection = Probe(self.flusher, sock)
            connection.open()
            connection.join(self.channel)

    def publish(self) -> None:
        with self.flusher.lock:
            self.flusher.append(self.channel, FRAME)

    def begin_a_round(self) -> None:
        """Write one batch and leave the rest."""
        self.publish()
        assert self.flusher._flush_slice(ONE_BATCH)

    def publisher_writes(self) -> bool:
        return self.flusher._flush_slice(NO_END, by_publisher=True)

    @property
    def writes(self) -> int:
        return sum(sock.send_count for sock in self.sockets)


@pytest.mark.parametrize("members", [WHOLE_BATCHES, 2 * WHOLE_BATCHES])
def test_a_publish_during_a_round_writes_a_share_of_it_whatever_its_size(members: int) -> None:
    stage = Stage(members)
    stage.begin_a_round()

    stage.publish()
    stage.publisher_writes()

    assert stage.writes == 2 * members // PUBLISHER_SHARE, (
        "its own and that of the publish which began the round"
    )


def test_a_publishers_quota_does_not_include_what_others_have_written() -> None:
    stage = Stage(WHOLE_BATCHES)
    stage.begin_a_round()
    while stage.flusher._flush_slice(ONE_BATCH) and stage.writes < WHOLE_BATCHES - BATCH_MAX:
        pass
    written = stage.writes

    stage.publish()
    stage.publisher_writes()

    assert stage.writes == written + WHOLE_BATCHES // PUBLISHER_SHARE


def test_the_flusher_skips_its_slices_while_publishers_write_and_finishes_afterwards() -> None:
    stage = Stage(WHOLE_BATCHES)
    flusher = stage.flusher
    flusher._is_awake = True
    stage.begin_a_round()
    for _ in range(3):
        stage.publish()
        flusher.write()
        written = stage.writes
        assert flusher._flush_own_slice(), "the publisher writes in its place"
        assert stage.writes == written

    while flusher._flush_own_slice():
        pass

    assert [sock.taken for sock in stage.sockets] == [FRAME * 4] * WHOLE_BATCHES


def test_a_publisher_that_finishes_a_round_starts_the_next_one() -> None:
    """Otherwise the next publish would find no round, and write nothing."""
    stage = Stage(WHOLE_BATCHES)
    flusher = stage.flusher
    flusher._is_awake = True
    stage.begin_a_round()
    for _ in range(int(2 * PUBLISHER_SHARE)):
        stage.publish()
        before = stage.writes
        flusher.write()
        assert stage.writes > before
        assert flusher._round is not None

    while flusher._flush_own_slice():
        pass

    assert [sock.taken for sock in stage.sockets] == [FRAME * (int(2 * PUBLISHER_SHARE) + 1)] * WHOLE_BATCHES
    assert flusher._round is None


def test_a_publisher_stops_after_the_last_write() -> None:
    members = BATCH_MAX + 16
    stage = Stage(members)
    stage.begin_a_round()
    for _ in range(20):
        stage.publish()

    assert not stage.publisher_writes()

    assert [sock.taken for sock in stage.sockets] == [FRAME * 21] * members


def test_a_publish_into_a_round_limits_its_slices_to_a_share_of_it() -> None:
    """Whatever is published between two slices joins the round, however fast the machine sends."""
    members = int(2 * PUBLISHER_SHARE) * SLICE_SHARE * BATCH_MAX
    stage = Stage(members)
    flusher = stage.flusher
    flusher._is_awake = True
    stage.begin_a_round()
    flusher._publisher_quota = 0  # Otherwise its share and the next one's would be the whole round.
    stage.publish()
    flusher.write()
    by_publisher = stage.writes

    assert flusher._flush_slice(NO_END)
    assert stage.writes == by_publisher + members // SLICE_SHARE

    while flusher._flush_slice(NO_END):
        pass
    stage.publish()
    assert not flusher._flush_slice(NO_END), "nothing is published meanwhile, so one slice writes everything"
    assert [sock.taken for sock in stage.sockets] == [FRAME * 3] * members


@pytest.mark.parametrize("members", [2, WHOLE_BATCHES])
def test_the_next_publish_writes_what_the_flusher_has_delayed_too_long(
    members: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_us = 10**9
    monkeypatch.setattr(clock, "monotonic_us", lambda: now_us)
    stage = Stage(members)
    stage.flusher._is_awake = True  # Its thread is about to write but has not run.
    stage.publish()
    now_us += MERGE_US_MAX - 1
    stage.publish()
    stage.flusher.write()
    merged = stage.writes
    now_us += 1
    stage.publish()
    stage.flusher.write()

    assert merged == 0, "publishes back to back are coalesced into a later write"
    assert stage.writes == min(members, 3 * members // PUBLISHER_SHARE)
    assert stage.sockets[1].taken == FRAME * 3


def test_a_long_burst_keeps_no_frames_that_all_members_have() -> None:
    """In a long burst, no round ends with all members at the end of the stream."""
    stage = Stage(BATCH_MAX * 3)
    stage.begin_a_round()
    for _ in range(100):
        stage.publish()
        assert stage.flusher._flush_slice(ONE_BATCH)

    assert stage.channel.stream.frame_count <= 5
    while stage.flusher._flush_slice(NO_END):
        pass
    assert [sock.taken for sock in stage.sockets] == [FRAME * 101] * len(stage.sockets)


def test_no_connection_waits_longer_than_one_round_in_a_burst() -> None:
    """Counts the writes to others between two writes to the same connection."""
    members = 3 * BATCH_MAX
    stage = Stage(members)
    stage.publish()
    sends = [0] * members
    last_at = [0] * members
    between = []

    for _ in range(30):
        assert stage.flusher._flush_slice(ONE_BATCH)
        for number, sock in enumerate(stage.sockets):
            if sock.send_count > sends[number]:
                between.append(stage.writes - last_at[number])
                sends[number], last_at[number] = sock.send_count, stage.writes
        stage.publish()

    assert max(between) <= members + BATCH_MAX, "one batch more than a round at most"


def test_rounds_with_a_pause_between_them_begin_at_another_connection_each() -> None:
    stage = Stage(3)
    first = []

    for _ in range(4):
        stage.publish()
        first.append(stage.channel.start_round()[1])
        assert not stage.flusher._flush_slice(NO_END)

    assert first == [0, 1, 2, 0]


def test_a_slice_ends_in_time_with_many_small_channels() -> None:
    """Clients may choose their own topics, and then each has its own channel."""
    flusher = Flusher(cast(Any, FakeLoop()), frames_max=10, bytes_max=1_000)
    sockets = [FakeSocket(number) for number in range(3)]
    for sock in sockets:
        sock.room = 1_000
        connection, channel = Probe(flusher, sock), Channel()
        connection.open()
        connection.join(channel)
        with flusher.lock:
            flusher.append(channel, FRAME)

    has_more = [flusher._flush_slice(ONE_BATCH) for _ in sockets]

    assert has_more == [True, True, False]
    assert [sock.taken for sock in sockets] == [FRAME] * 3


def test_a_bug_in_writing_to_one_connection_closes_only_that_one(caplog: pytest.LogCaptureFixture) -> None:
    stage = Stage(3)
    stage.sockets[1].failure = ValueError("a bug")

    stage.publish()
    assert not stage.flusher._flush_slice(NO_END)

    assert [record.message for record in caplog.records] == ["Writing to a connection failed; closed."]
    assert [(sock.taken, sock.is_closed) for sock in stage.sockets] == [
        (FRAME, False),
        (b"", True),
        (FRAME, False),
    ]
