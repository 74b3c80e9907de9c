"""The batch sender, by io_uring and by single sends: same bytes, same cursors, same reactions to failures."""

from __future__ import annotations

import _socket
import itertools
import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app import clock
from app.server.fanout import batch_sender
from app.server.fanout.batch_sender import (
    AT_ONCE,
    BUFFER_BYTES,
    ONE_BY_ONE,
    SENDS_MAX,
    STAMPED_BATCH,
    Pause,
    Recipients,
    Sender,
)
from app.server.fanout.channel import Channel
from app.server.fanout.closed import CLOSED_LOST
from app.server.fanout.flusher import Flusher
from app.server.fanout.recorder import Recorder
from app.server.fanout.ring import BATCH_MAX
from tests.support.kernel_ring import OFFERED, needs_ring
from tests.unit.test_connection import FakeLoop, Probe

WAYS = [pytest.param(True, marks=needs_ring, id=AT_ONCE), pytest.param(False, id=ONE_BY_ONE)]

MEMBERS = SENDS_MAX + 2 * BATCH_MAX + 5

NO_END = Pause(lambda: False)


class Room:
    """Real socket pairs and a flusher that writes to them; the test runs its slices."""

    def __init__(self, members: int, *, at_once: bool) -> None:
        self.sender = Sender(at_once=at_once)
        self.flusher = Flusher(
            cast(Any, FakeLoop()), frames_max=10_000, bytes_max=10_000_000, sender=self.sender
        )
        self.channel = Channel()
        self.peers: list[socket.socket] = []
        self.members: list[Probe] = []
        for _ in range(members):
            ours, theirs = socket.socketpair()
            theirs.setblocking(False)
            sock = _socket.socket(fileno=ours.detach())
            sock.setblocking(False)
            member = Probe(self.flusher, cast(Any, sock))
            member.open()
            member.join(self.channel)
            self.peers.append(theirs)
            self.members.append(member)

    def publish(self, frame: bytes) -> None:
        with self.flusher.lock:
            self.flusher.append(self.channel, frame)
            while self.flusher._flush_slice(NO_END):
                pass

    def received(self, index: int) -> bytes:
        got = b""
        try:
            while more := self.peers[index].recv(1 << 20):
                got += more
        except BlockingIOError:
            pass
        return got

    def close(self) -> None:
        for member in self.members:
            member.drop(CLOSED_LOST)
        for peer in self.peers:
            peer.close()
        if self.sender._ring is not None:
            self.sender._ring.close()


@contextmanager
def room_of(members: int, *, at_once: bool) -> Iterator[Room]:
    room = Room(members, at_once=at_once)
    try:
        yield room
    finally:
        room.close()


@pytest.mark.parametrize("at_once", WAYS)
def test_every_connection_gets_every_frame_in_order(at_once: bool) -> None:
    frames = [b"<%d>" % number for number in range(7)]
    with room_of(MEMBERS, at_once=at_once) as room:
        for frame in frames:
            room.publish(frame)

        assert [room.received(index) for index in range(MEMBERS)] == [b"".join(frames)] * MEMBERS
        assert room.sender.way == (AT_ONCE if at_once else ONE_BY_ONE)


FATES = st.sampled_from(["reads", "is full", "is gone", "leaves", "reads"])


@pytest.mark.parametrize("at_once", WAYS)
@given(fates=st.lists(FATES, min_size=1, max_size=12), is_recorded=st.booleans())
def test_a_connection_that_does_not_take_a_frame_affects_no_other_one(
    at_once: bool, fates: list[str], is_recorded: bool
) -> None:
    with room_of(len(fates), at_once=at_once) as room:
        recorder = Recorder(notifications=3, connections=len(fates))
        if is_recorded:
            room.channel.recorder = recorder
        room.publish(b"<one>")
        filled: dict[int, bytes] = {}
        for index, fate in enumerate(fates):
            if fate == "is full":
                filled[index] = _fill(room.members[index])
            elif fate == "is gone":
                room.peers[index].close()
            elif fate == "leaves":
                room.members[index].leave()

        room.publish(b"<two>")

        for index, fate in enumerate(fates):
            member = room.members[index]
            if fate == "is gone":
                assert member.closed == [CLOSED_LOST]
                continue
            expected = {"reads": b"<one><two>", "leaves": b"<one>"}.get(
                fate, b"<one>" + filled.get(index, b"")
            )
            assert room.received(index) == expected
            assert member.is_blocked is (fate == "is full")
            assert member.closed == []
        if is_recorded:
            served = sum(fate == "reads" for fate in fates)
            assert recorder.count == len(fates) + served


def _fill(member: Probe) -> bytes:
    filled = b""
    try:
        while True:
            assert member.sock is not None
            filled += b"y" * member.sock.send(b"y" * 4_096)
    except BlockingIOError:
        return filled


@pytest.fixture
def _ticks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each reading of the clock is one more than the last."""
    ticks = itertools.count()
    monkeypatch.setattr(clock, "monotonic_ns", lambda: next(ticks))


@needs_ring
@pytest.mark.usefixtures("_ticks")
def test_timestamps_precede_the_send_and_are_shared_by_a_small_batch() -> None:
    with room_of(20, at_once=True) as room:
        done, results, stamps_ns = room.sender.send_stamped(Recipients(room.members), 0, 20, b"data")

        assert (done, results) == (20, None)
        assert stamps_ns == [index // STAMPED_BATCH for index in range(20)]


@pytest.mark.usefixtures("_ticks")
def test_single_sends_have_a_timestamp_each_also_after_a_failed_one() -> None:
    with room_of(5, at_once=False) as room:
        room.peers[2].close()

        done, results, stamps_ns = room.sender.send_stamped(Recipients(room.members), 0, 5, b"data")

        assert done == 5
        assert results is not None
        assert [result > 0 for result in results] == [True, True, False, True, True]
        assert stamps_ns == sorted(stamps_ns)


@needs_ring
def test_sends_that_io_uring_does_not_take_are_made_singly_and_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with room_of(BATCH_MAX, at_once=True) as room, caplog.at_level(logging.WARNING, logger="siar.sending"):
        room.publish(b"<one>")
        ring = room.sender._ring
        assert ring is not None
        enter = ring._enter
        ring._enter = lambda call, fd, count, _least, *rest: enter(
            call, fd, min(count, 2), min(count, 2), *rest
        )

        room.publish(b"<two>")
        room.publish(b"<three>")

        assert [room.received(index) for index in range(BATCH_MAX)] == [b"<one><two><three>"] * BATCH_MAX
    assert len(caplog.records) == 1
    assert caplog.records[0].getMessage().startswith("io_uring took 2 of ")


def test_without_io_uring_sends_are_single_and_the_reason_is_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(_operation: int, _places: int) -> None:
        raise PermissionError(1, "not for you")

    monkeypatch.setattr(batch_sender, "Ring", refuse)
    with room_of(3, at_once=True) as room, caplog.at_level(logging.INFO, logger="siar.sending"):
        room.publish(b"<one>")

        assert [room.received(index) for index in range(3)] == [b"<one>"] * 3
        assert room.sender.way == ONE_BY_ONE
    assert len(caplog.records) == 1
    assert "not for you" in caplog.records[0].getMessage()


def test_a_batch_with_timestamps_fits_into_one_call() -> None:
    assert STAMPED_BATCH <= BATCH_MAX


@pytest.mark.parametrize("at_once", WAYS)
@pytest.mark.parametrize("every", [1, 16, BATCH_MAX])
@pytest.mark.parametrize("looks", [1, 3, 1000])
@pytest.mark.parametrize("is_recorded", [False, True])
def test_a_pause_comes_after_whole_batches_and_the_rest_is_sent_later(
    at_once: bool, every: int, looks: int, is_recorded: bool
) -> None:
    members = 3 * BATCH_MAX + 5
    with room_of(members, at_once=at_once) as room:
        row = Recipients(room.members)
        countdown = itertools.count(1)
        pause = Pause(lambda: next(countdown) >= looks, every)

        if is_recorded:
            done, results, stamps_ns = room.sender.send_stamped(row, 0, members, b"one", pause)
            assert len(stamps_ns) == done
            batch = STAMPED_BATCH if at_once else BATCH_MAX
        else:
            done, results = room.sender.send(row, 0, members, b"one", pause)
            batch = every

        assert results is None
        assert done == min(members, looks * batch)
        later, _results = room.sender.send(row, done, members, b"two")
        assert later == members - done
        received = [room.received(index) for index in range(members)]
        assert received == [b"one"] * done + [b"two"] * (members - done)


@needs_ring
def test_data_longer_than_the_buffer_gets_a_larger_buffer() -> None:
    with room_of(3, at_once=True) as room:
        long = bytes(range(256)) * (BUFFER_BYTES // 256 + 1)
        for member in room.members:
            assert member.sock is not None
            member.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 * BUFFER_BYTES)
        for data in (b"short", long, b"short again"):
            assert room.sender.send(Recipients(room.members), 0, 3, data) == (3, None)

        assert [room.received(index) for index in range(3)] == [b"short" + long + b"short again"] * 3


def test_the_ring_is_opened_at_first_use_and_not_before_a_fork() -> None:
    sender = Sender(at_once=True)
    before = sender._ring
    assert sender.way == (AT_ONCE if OFFERED else ONE_BY_ONE)
    assert before is None
    if sender._ring is not None:
        sender._ring.close()
