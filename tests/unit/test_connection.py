"""A detached connection: the bytes that its peer reads, under any pattern of partial writes by the kernel."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.server.fanout.batch_sender import Pause
from app.server.fanout.channel import Channel
from app.server.fanout.closed import CLOSED_BY_CLIENT, CLOSED_LOST, CLOSED_SLOW
from app.server.fanout.connection import PUSH_US, DetachedConnection
from app.server.fanout.flusher import Flusher
from app.server.wsgi import epoll
from app.server.wsgi.loop import Loop


class FakeSocket:
    """A socket whose kernel buffer takes as much as the test allows."""

    def __init__(self, fd: int = 7) -> None:
        self.room = 0
        self.taken = b""
        self.is_closed = self.is_shut_down = False
        self.incoming: list[bytes] = []
        self.fd = fd
        self.send_count = 0
        self.failure: Exception | None = None
        """The error that `send` raises."""

    def fileno(self) -> int:
        return self.fd

    def send(self, data: bytes) -> int:
        assert not self.is_closed
        self.send_count += 1
        if self.failure is not None:
            raise self.failure
        if self.room == 0:
            raise BlockingIOError
        count = min(self.room, len(data))
        self.taken += data[:count]
        self.room -= count
        return count

    def recv(self, size: int) -> bytes:
        if not self.incoming:
            raise BlockingIOError
        return self.incoming.pop(0)[:size]

    def shutdown(self, _how: int) -> None:
        self.is_shut_down = True

    def close(self) -> None:
        self.is_closed = True


class FakeLoop:
    """Records the events that each descriptor waits for."""

    def __init__(self) -> None:
        self.wants_write: dict[int, bool] = {}
        self.later: list[Callable[[], None]] = []

    def watch(self, fd: int, _watched: object) -> None:
        self.wants_write[fd] = False

    def want(self, fd: int, *, read: bool, write: bool) -> None:
        assert read
        self.wants_write[fd] = write

    def forget(self, fd: int) -> None:
        self.wants_write.pop(fd, None)

    def call_once(self, _after_us: int, function: Callable[[], None]) -> None:
        self.later.append(function)


class Probe(DetachedConnection):
    """A connection that records its callbacks."""

    __slots__ = ("closed", "received")

    def __init__(self, flusher: Flusher, sock: FakeSocket) -> None:
        super().__init__(flusher, cast(Any, sock))
        self.closed: list[str] = []
        self.received = b""

    def on_data(self, data: bytes) -> None:
        self.received += data

    def on_closed(self, reason: str) -> None:
        self.closed.append(reason)


class Bench:
    """One connection in a channel, with a fake socket."""

    def __init__(self, *, frames_max: int = 1000, bytes_max: int = 10**6, room: int = 0) -> None:
        self.loop = FakeLoop()
        self.flusher = Flusher(cast(Loop, self.loop), frames_max=frames_max, bytes_max=bytes_max)
        self.channel = Channel()
        self.sock = FakeSocket()
        self.sock.room = room
        self.connection = Probe(self.flusher, self.sock)
        self.connection.open()
        self.connection.join(self.channel)

    def publish(self, frame: bytes) -> None:
        with self.flusher.lock:
            self.flusher.append(self.channel, frame)
        while self.flusher._flush_slice(Pause(lambda: False)):
            pass

    def kernel_takes(self, count: int) -> None:
        self.sock.room += count
        if self.loop.wants_write.get(self.sock.fd):
            self.connection.on_events(epoll.OUT)

    def drain(self) -> None:
        for _ in range(10_000):
            if not self.loop.wants_write.get(self.sock.fd):
                return
            self.kernel_takes(1000)
        raise AssertionError("never drained")


OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["publish", "own", "in_order"]), st.integers(1, 40)),
        st.tuples(st.just("takes"), st.integers(1, 60)),
    ),
    max_size=40,
)


@settings(max_examples=300)
@given(OPERATIONS, st.integers(0, 3))
def test_every_frame_arrives_whole_and_in_order(operations: list[tuple[str, int]], missed_count: int) -> None:
    """Own frames may overtake stream frames that were not begun, frames in order may not, and no frame is split."""
    bench = Bench()
    missed = [b"<missed %d>" % number for number in range(missed_count)]
    bench.connection.write(b"<head>", replay=iter(missed))
    sequence: list[tuple[str, bytes]] = []
    for number, (kind, size) in enumerate(operations):
        frame = b"<%s %d %s>" % (kind.encode(), number, b"x" * size)
        if kind == "takes":
            bench.kernel_takes(size)
            continue
        sequence.append((kind, frame))
        if kind == "publish":
            bench.publish(frame)
        elif kind == "own":
            bench.connection.write(frame)
        else:
            bench.connection.write_in_order(frame)

    bench.drain()

    arrived = re.findall(rb"<[^<>]*>", bench.sock.taken)
    assert b"".join(arrived) == bench.sock.taken, "a frame was split by another"
    assert sorted(arrived) == sorted([b"<head>", *missed, *(frame for _kind, frame in sequence)])
    ordered = [frame for kind, frame in sequence if kind != "own"]
    assert [frame for frame in arrived if frame in ordered] == ordered
    own = [frame for kind, frame in sequence if kind == "own"]
    assert [frame for frame in arrived if frame in own] == own
    assert [frame for frame in arrived if frame.startswith(b"<missed")] == missed
    assert arrived.index(b"<head>") == 0


def test_publishes_before_a_due_write_are_coalesced_into_it() -> None:
    bench = Bench(room=10**6)
    with bench.flusher.lock:
        for number in range(50):
            bench.flusher.append(bench.channel, b"<%d>" % number)

    bench.flusher._flush_slice(Pause(lambda: False))

    assert bench.sock.send_count == 1
    assert bench.sock.taken == b"".join(b"<%d>" % number for number in range(50))


def test_a_single_notification_is_written_by_the_call_that_publishes_it() -> None:
    bench = Bench(room=10**6)
    with bench.flusher.lock:
        bench.flusher.append(bench.channel, b"<at once>")

    bench.flusher.write()

    assert bench.sock.taken == b"<at once>"


@pytest.mark.parametrize(("frames_max", "bytes_max"), [(3, 10**6), (1000, 40)])
def test_a_slow_consumer_is_cut_off_and_the_others_are_not(frames_max: int, bytes_max: int) -> None:
    bench = Bench(frames_max=frames_max, bytes_max=bytes_max)
    reader = Probe(bench.flusher, reads := FakeSocket(8))
    reads.room = 10**6
    reader.open()
    reader.join(bench.channel)

    for number in range(6):
        bench.publish(b"<frame %04d>" % number)

    assert bench.connection.closed == [CLOSED_SLOW]
    assert bench.sock.is_closed
    assert reader.closed == []
    assert reads.taken == b"".join(b"<frame %04d>" % number for number in range(6))
    assert bench.channel.stream.frame_count == 0, "no connection needs them any more"


def test_a_stalled_client_holds_the_stream_but_no_copy_of_it() -> None:
    bench = Bench()
    for _ in range(100):
        bench.publish(b"x" * 1000)

    assert bench.channel.stream.frame_count == 100
    assert bench.connection.waiting_bytes == 100_000
    assert bench.connection._own == b""


def test_a_close_by_the_peer_is_noticed_at_once() -> None:
    bench = Bench()
    bench.sock.incoming = [b""]

    bench.connection.on_events(epoll.IN | epoll.PEER_CLOSED)

    assert bench.connection.closed == [CLOSED_BY_CLIENT]
    assert not bench.channel.members


def test_an_event_of_an_earlier_descriptor_is_ignored() -> None:
    """The kernel reuses descriptors: a hang-up may belong to the previous connection."""
    bench = Bench()

    bench.connection.on_events(epoll.HANG_UP | epoll.ERROR)

    assert bench.connection.closed == []


def test_the_last_frame_is_sent_after_all_others_and_then_the_socket_is_shut_down() -> None:
    bench = Bench()
    bench.publish(b"<one>")
    bench.publish(b"<two>")

    bench.connection.finish(b"<bye>", "server_drain")
    bench.publish(b"<three>")
    assert bench.flusher.ending == {bench.connection}
    bench.drain()

    assert bench.sock.taken == b"<one><two><bye>"
    assert bench.sock.is_shut_down
    assert bench.connection.closed == ["server_drain"]
    assert not bench.flusher.ending
    bench.sock.incoming = [b""]
    bench.connection.on_events(epoll.IN)
    assert bench.sock.is_closed
    assert bench.connection.closed == ["server_drain"]


def test_a_peer_that_does_not_read_the_last_frame_is_cut_off() -> None:
    bench = Bench()
    bench.publish(b"<one>")
    bench.connection.finish(b"<bye>", "server_drain")

    for later in bench.loop.later:
        later()

    assert bench.sock.is_closed
    assert not bench.flusher.ending


def test_a_broken_connection_closes_no_other_one() -> None:
    bench = Bench(room=10**6)
    sock = FakeSocket(9)
    sock.failure = ConnectionResetError()
    broken = Probe(bench.flusher, sock)
    broken.open()
    broken.join(bench.channel)

    bench.publish(b"<frame>")

    assert broken.closed == [CLOSED_LOST]
    assert bench.sock.taken == b"<frame>"


def test_a_replay_is_generated_piece_by_piece() -> None:
    """A client that requests all of history and does not read must not hold all of it in memory."""
    made = []

    def pieces() -> Iterator[bytes]:
        for number in range(100):
            made.append(number)
            yield b"x" * 1000

    bench = Bench()
    bench.connection.write(b"<head>", replay=pieces())

    assert made == []
    bench.kernel_takes(2500)
    assert len(made) <= 4
    bench.drain()
    assert bench.sock.taken == b"<head>" + b"x" * 100_000


def test_a_frame_in_order_is_sent_after_all_waiting_frames_however_many() -> None:
    """More waits than one write takes, and another connection at the same cursor has just read that much."""
    frames = [b"<%d %s>" % (number, b"x" * 60_000) for number in range(4)]
    bench = Bench()
    other = Probe(bench.flusher, FakeSocket(8))
    other.open()
    other.join(bench.channel)
    with bench.flusher.lock:
        for frame in frames:
            bench.flusher.append(bench.channel, frame)
    bench.flusher._flush_slice(Pause(lambda: False))

    bench.connection.write_in_order(b"<in order>")
    bench.drain()

    assert bench.sock.taken == b"".join(frames) + b"<in order>"


@pytest.mark.parametrize("kind", ["own", "in_order", "in_order_after_a_replay"])
def test_frames_for_one_client_alone_are_bounded_too(kind: str) -> None:
    """Pongs and frames for one device are not in the stream, and a client may not read them."""
    bench = Bench(bytes_max=100_000)
    if kind == "in_order_after_a_replay":
        bench.connection.write(b"<head>", replay=iter([b"<missed>"]))
    write = bench.connection.write if kind == "own" else bench.connection.write_in_order

    for _ in range(200):
        write(b"x" * 1000)
        assert bench.connection.waiting_bytes <= 101_000

    assert bench.connection.closed == [CLOSED_SLOW]


def test_thousands_of_frames_in_order_are_sent_after_the_replay() -> None:
    bench = Bench()
    bench.connection.write(b"<head>", replay=iter([b"<missed>"]))
    for number in range(3000):
        bench.connection.write_in_order(b"<%d>" % number)

    bench.drain()

    assert bench.sock.taken == b"<head><missed>" + b"".join(b"<%d>" % number for number in range(3000))


def test_leaving_the_stream_within_a_frame_sends_the_rest_of_it_first() -> None:
    """A Socket.IO client may leave its namespace and stay connected; then it still gets pings."""
    bench = Bench(room=3)
    bench.publish(b"a whole frame ")

    bench.connection.leave()
    bench.publish(b"not for it ")
    bench.connection.write(b"ping")
    bench.drain()

    assert bench.sock.taken == b"a whole frame ping"


def test_a_failing_close_callback_affects_no_other_connection() -> None:
    class Faulty(Probe):
        __slots__ = ()

        def on_closed(self, reason: str) -> None:
            raise RuntimeError(reason)

    bench = Bench()
    broken = FakeSocket(8)
    broken.failure = ConnectionResetError()
    faulty = Faulty(bench.flusher, broken)
    faulty.open()
    faulty.join(bench.channel)
    last = Probe(bench.flusher, reads := FakeSocket(9))
    reads.room = 10**6
    last.open()
    last.join(bench.channel)

    bench.publish(b"<one>")
    bench.publish(b"<two>")

    assert reads.taken == b"<one><two>"
    assert faulty not in bench.channel.members


def test_ten_thousand_writes_to_a_peer_that_does_not_read_take_linear_time() -> None:
    """It happens when history waits in a polling session whose client upgrades: each packet is a write."""
    bench = Bench(bytes_max=10**9)
    frames = [f"{number:06}".encode() * 200 for number in range(10_000)]

    started_s = time.process_time()
    for frame in frames:
        bench.connection.write(frame)
    cpu_s = time.process_time() - started_s

    assert cpu_s < 3, "a minute if each write copies all that waits"
    bench.kernel_takes(sum(map(len, frames)) - 5)
    bench.kernel_takes(5)
    assert bench.sock.taken == b"".join(frames)


class SlowSocket(FakeSocket):
    """A socket for which each write takes a whole slice."""

    def send(self, data: bytes) -> int:
        time.sleep(PUSH_US / 1e6)
        return super().send(data)


def test_a_long_replay_yields_to_other_connections() -> None:
    bench = Bench()
    sock = bench.connection.sock = cast(Any, SlowSocket())
    sock.room = 10**6
    pieces = [b"one", b"two", b"three"]

    bench.connection.write(b"head", replay=iter(pieces))
    assert sock.taken == b"head"
    assert bench.loop.wants_write[sock.fd], "the loop continues the replay"
    taken = []
    for _ in range(4):
        bench.connection.on_events(epoll.OUT)
        taken.append(sock.taken)

    assert taken == [b"headone", b"headonetwo", b"headonetwothree", b"headonetwothree"]
    assert not bench.loop.wants_write[sock.fd]
