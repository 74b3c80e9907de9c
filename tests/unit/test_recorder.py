"""A recorded time is that of the very `send` that completed a notification, under any pattern of partial writes."""

from __future__ import annotations

from typing import Any, cast

from hypothesis import example, given, settings
from hypothesis import strategies as st

from app import clock
from app.server.fanout.batch_sender import Pause
from app.server.fanout.channel import Channel
from app.server.fanout.flusher import Flusher
from app.server.fanout.recorder import ROWS_SPARE, Recorder
from tests.unit.test_connection import FakeLoop, FakeSocket, Probe


class LoggedSocket(FakeSocket):
    """A kernel that remembers when each call began and ended, and how much it had taken by then."""

    def __init__(self, fd: int) -> None:
        super().__init__(fd)
        self.log: list[tuple[int, int, int]] = []

    def getpeername(self) -> tuple[str, int]:
        return ("127.0.0.1", 5000 + self.fd)

    def send(self, data: bytes) -> int:
        began_ns = clock.monotonic_ns()
        try:
            return super().send(data)
        finally:
            self.log.append((began_ns, clock.monotonic_ns(), len(self.taken)))

    def may_be_stamped(self, end: int) -> tuple[int, int]:
        """Between the end of the call before and the begin of the one that took the byte before `end`."""
        place = next(number for number, (_, _, total) in enumerate(self.log) if total >= end)
        before_ns = self.log[place - 1][1] if place else 0
        return clock.stamp_us(before_ns), clock.stamp_us(self.log[place][0])


class Stage:
    """A channel with a recorder."""

    def __init__(self, *, notifications: int, members: int) -> None:
        self.flusher = Flusher(cast(Any, FakeLoop()), frames_max=10_000, bytes_max=10_000_000)
        self.channel = Channel()
        self.sockets: list[LoggedSocket] = []
        self.connections: list[Probe] = []
        self.recorder = Recorder(notifications=notifications, connections=members)
        for _ in range(members):
            self.join()
        for connection in self.connections:
            self.recorder.joined(self.channel, connection)
        self.channel.recorder = self.recorder

    def join(self) -> Probe:
        sock = LoggedSocket(len(self.sockets))
        connection = Probe(self.flusher, sock)
        self.sockets.append(sock)
        self.connections.append(connection)
        connection.open()
        connection.join(self.channel)
        return connection

    def publish(self, offset: int) -> None:
        with self.flusher.lock:
            self.flusher.append(self.channel, b"<%d>" % offset * 5)
            self.recorder.mark(self.channel, offset)

    def write(self) -> None:
        while self.flusher._flush_slice(Pause(lambda: False)):
            pass

    def accepted(self) -> dict[Any, dict[int, int]]:
        return {connection: dict(times) for connection, times in self.recorder.accepted()}


STEPS = st.lists(
    st.one_of(
        st.just(("publish", 0)),
        st.just(("write", 0)),
        st.just(("ping", 0)),
        st.tuples(st.just("room"), st.integers(1, 60)),
    ),
    max_size=40,
)


CUT_AMID_A_PING = [("publish", 0), *[("room", 1)] * 2, ("room", 7), ("ping", 0), ("room", 1), ("room", 5)]
"""The frame's rest and the ping behind it wait together, and the kernel takes the frame's rest only."""


@given(STEPS)
@example(CUT_AMID_A_PING)
@settings(deadline=None, max_examples=150)
def test_the_time_is_that_of_the_call_that_took_the_last_byte(steps: list[tuple[str, int]]) -> None:
    stage = Stage(notifications=50, members=1)
    sock, connection = stage.sockets[0], stage.connections[0]
    published = 0

    for step, amount in steps:
        if step == "publish":
            stage.publish(published)
            published += 1
        elif step == "write":
            stage.write()
        elif step == "ping":
            connection.write(b"!")
        else:
            sock.room += amount
            connection.on_events(4)
    sock.room = 1_000_000
    connection.on_events(4)
    while connection.is_blocked:  # A push ends with its time, which on a busy machine is after any call.
        connection.on_events(4)
    stage.write()

    accepted = stage.accepted()[connection]
    assert list(accepted) == list(range(published))
    for offset, accepted_us in accepted.items():
        end = sock.taken.replace(b"!", b"").find(b"<%d>" % offset * 5) + len(b"<%d>" % offset * 5)
        # Pings stand between frames: count those in front of this end.
        end = next(
            at for at in range(end, len(sock.taken) + 1) if len(sock.taken[:at].replace(b"!", b"")) >= end
        )
        earliest_us, latest_us = sock.may_be_stamped(end)
        assert earliest_us <= accepted_us <= latest_us


def test_frames_of_one_write_have_one_timestamp() -> None:
    stage = Stage(notifications=3, members=1)
    stage.sockets[0].room = 1000
    for offset in range(3):
        stage.publish(offset)

    stage.write()

    times = stage.accepted()[stage.connections[0]]
    assert list(times) == [0, 1, 2]
    assert len(set(times.values())) == 1
    assert stage.recorder.count == 1


def test_a_later_member_has_no_timestamp_for_earlier_frames() -> None:
    stage = Stage(notifications=3, members=1)
    stage.publish(0)
    late = stage.join()
    stage.publish(1)
    for sock in stage.sockets:
        sock.room = 1000

    stage.write()

    accepted = stage.accepted()
    assert list(accepted[stage.connections[0]]) == [0, 1]
    assert list(accepted[late]) == [1]
    assert stage.recorder.readers[late].peer == ("127.0.0.1", 5001)


def test_the_order_of_writing_is_the_order_of_times() -> None:
    stage = Stage(notifications=1, members=20)
    for sock in stage.sockets:
        sock.room = 1000
    stage.publish(0)

    stage.write()

    accepted = stage.accepted()
    by_time = sorted(stage.connections, key=lambda connection: accepted[connection][0])
    by_writing = sorted(stage.connections, key=lambda connection: stage.sockets[connection.fd].log[0][0])
    assert [accepted[each][0] for each in by_time] == [accepted[each][0] for each in by_writing]


def test_entries_beyond_the_capacity_are_counted() -> None:
    stage = Stage(notifications=0, members=1)
    stage.sockets[0].room = 1000
    for offset in range(ROWS_SPARE + 5):
        stage.publish(offset)
        stage.write()

    assert (stage.recorder.count, stage.recorder.dropped_count) == (ROWS_SPARE, 5)
    assert stage.accepted() == {stage.connections[0]: {}}
