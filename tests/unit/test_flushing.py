"""Writing to runs of connections: one call for many, while each is treated by what its own kernel buffer took."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from enum import Enum
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.server.fanout.batch_sender import Pause, Recipients
from app.server.fanout.channel import Channel
from app.server.fanout.closed import CLOSED_BY_SERVER, CLOSED_LOST
from app.server.fanout.connection import WRITE_BYTES_MAX
from app.server.fanout.flusher import Flusher
from app.server.fanout.flushing import flush
from app.server.fanout.recorder import Recorder
from tests.unit.test_connection import FakeLoop, FakeSocket, Probe

FRAMES = (b"<one>", b"<two, which is longer>", b"<three>")
STREAM = b"".join(FRAMES)


class Fate(Enum):
    """What happens to a connection before or during the write."""

    RESET = "its peer is gone"
    BUG = "its send has a bug"
    BLOCKED = "its kernel buffer was full before"
    LEFT = "it reads something else now"
    GONE = "it has ended"


class Member(Probe):
    """A member of the batch."""

    __slots__ = ("begins", "kernel", "when_closed")

    def __init__(self, stage: Stage, fate: int | Fate, begins: int) -> None:
        """`fate`: how much its kernel takes, or one of those above; `begins`: its cursor."""
        self.kernel = FakeSocket(len(stage.members))
        super().__init__(stage.flusher, self.kernel)
        self.kernel.room = fate if isinstance(fate, int) else len(STREAM)
        self.begins = begins
        self.when_closed: Callable[[], None] = lambda: None
        self.open()
        self.join(stage.channel)
        self.cursor = begins
        if isinstance(fate, Fate):
            self._meet(fate)

    def _meet(self, fate: Fate) -> None:
        if fate in (Fate.RESET, Fate.BUG):
            self.kernel.failure = ConnectionResetError() if fate is Fate.RESET else ValueError("a bug")
        elif fate is Fate.BLOCKED:
            self.block()
        elif fate is Fate.LEFT:
            self.cursor = len(STREAM)  # Within a frame it would keep the frame's rest.
            self.leave()
            self.cursor = self.begins
        else:
            self.drop(CLOSED_LOST)

    def on_closed(self, reason: str) -> None:
        super().on_closed(reason)
        self.when_closed()


class Stage:
    """A channel whose stream has three frames, and one batch of members."""

    def __init__(self, *fates: tuple[int | Fate, int]) -> None:
        self.flusher = Flusher(cast(Any, FakeLoop()), frames_max=10_000, bytes_max=10_000_000)
        self.channel = Channel()
        self.members: list[Member] = []
        for frame in FRAMES:
            self.channel.stream.append(frame)
        for fate, begins in fates:
            self.members.append(Member(self, fate, begins))

    def write(self) -> None:
        with self.flusher.lock:
            flush(self.channel, self.flusher.sender, Recipients(self.members), 0, len(self.members))


BOUNDARIES = (0, len(FRAMES[0]), len(FRAMES[0] + FRAMES[1]), len(STREAM))
FATES = st.one_of(st.integers(0, len(STREAM)), st.sampled_from(Fate), st.just(len(STREAM)))


@given(st.lists(st.tuples(FATES, st.sampled_from(BOUNDARIES)), min_size=1, max_size=8), st.booleans())
def test_each_cursor_advances_by_what_its_kernel_buffer_took(
    fates: list[tuple[int | Fate, int]], is_recorded: bool
) -> None:
    stage = Stage(*fates)
    recorder = Recorder(notifications=len(FRAMES), connections=len(fates))
    stage.channel.recorder = recorder if is_recorded else None

    stage.write()

    for (fate, begins), member in zip(fates, stage.members, strict=True):
        wanted = STREAM[begins:]
        if fate in (Fate.RESET, Fate.BUG) and wanted:
            assert member.closed == [CLOSED_LOST]
        elif isinstance(fate, int) or fate in (Fate.RESET, Fate.BUG):
            assert member.kernel.taken == wanted[: member.kernel.room + len(member.kernel.taken)]
            assert member.cursor == begins + len(member.kernel.taken)
            assert member.is_blocked is (member.cursor != len(STREAM))
        else:
            assert member.kernel.taken == b""
    if is_recorded:
        noted = {(id(connection), cursor) for connection, cursor in _rows(recorder)}
        written = {(id(each), each.cursor) for each in stage.members if each.kernel.taken}
        assert noted == written


@given(
    st.lists(st.sampled_from(BOUNDARIES), min_size=1, max_size=12),
    st.integers(1, 4),
    st.lists(st.booleans(), min_size=1),
    st.booleans(),
)
def test_members_at_different_cursors_get_everything_once_however_often_it_pauses(
    begins: list[int], every: int, dues: list[bool], is_recorded: bool
) -> None:
    stage = Stage(*((len(STREAM), begin) for begin in begins))
    if is_recorded:
        stage.channel.recorder = Recorder(notifications=len(FRAMES), connections=len(begins))
    looks = itertools.cycle([*dues, True])
    row, at = stage.channel.start_round()

    while at < len(begins):
        with stage.flusher.lock:
            done = flush(
                stage.channel,
                stage.flusher.sender,
                row,
                at,
                len(begins) - at,
                Pause(lambda: next(looks), every),
            )
        assert done > 0
        at += done

    assert at == len(begins)
    assert [member.kernel.taken for member in stage.members] == [STREAM[begin:] for begin in begins]
    assert [member.kernel.send_count for member in stage.members] == [begin < len(STREAM) for begin in begins]


def _rows(recorder: Recorder) -> list[tuple[object, int]]:
    return [(recorder._connections[row], recorder._cursors[row]) for row in range(recorder.count)]


@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_close_callback_within_a_batch_may_publish_and_close_others(at: int) -> None:
    fates: list[tuple[int | Fate, int]] = [(len(STREAM) + 99, 0)] * 3
    fates.insert(at, (Fate.RESET, 0))
    stage = Stage(*fates)
    others = [each for each in stage.members if each is not stage.members[at]]

    def publish_and_end_the_last() -> None:
        stage.channel.stream.append(b"<four>")
        others[-1].drop(CLOSED_BY_SERVER)

    stage.members[at].when_closed = publish_and_end_the_last

    stage.write()

    assert stage.members[at].closed == [CLOSED_LOST]
    for each in others:  # All had been written to before the first callback.
        assert each.kernel.taken.startswith(STREAM)
    for each in others[:-1]:
        assert each.cursor == len(each.kernel.taken)
        assert not each.is_blocked


def test_members_that_took_everything_share_one_cursor_object() -> None:
    stage = Stage(*[(len(STREAM), 0)] * 5)

    stage.write()

    assert {id(each.cursor) for each in stage.members} == {id(stage.channel.stream.end)}


def test_data_too_long_for_one_write_waits_for_the_loop() -> None:
    stage = Stage((10 * WRITE_BYTES_MAX, len(STREAM)), (10 * WRITE_BYTES_MAX, len(STREAM)))
    large = bytes(WRITE_BYTES_MAX)
    stage.channel.stream.append(large)
    stage.channel.stream.append(large)

    stage.write()

    assert [each.kernel.taken == large for each in stage.members] == [True, True]
    assert [each.is_blocked for each in stage.members] == [True, True]
