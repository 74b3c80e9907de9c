"""Everybody gets each notification once and in order, whatever else is written to whom in the middle of a round.

A connection whose kernel buffer is full stands where it stands, which may be behind all others or ahead of those whom the
round has not reached: what is written to one connection alone, a ping, takes along everything that the stream has by then.
"""

from __future__ import annotations

import random
import re
from typing import Any, cast

import pytest

from app.server.fanout.batch_sender import Pause
from app.server.fanout.channel import Channel
from app.server.fanout.closed import CLOSED_LOST
from app.server.fanout.flusher import Flusher
from app.server.fanout.stream import Stream
from app.server.wsgi import epoll
from tests.unit.test_connection import FakeLoop, FakeSocket, Probe

PING = b"{}"
MUCH = 10**6


class Reader:
    """A connection, and what it is to get."""

    def __init__(self, stage: Stage, room: int) -> None:
        self.kernel = FakeSocket(len(stage.readers))
        self.kernel.room = room
        self.connection = Probe(stage.flusher, self.kernel)
        self.connection.open()
        self.connection.join(stage.channel)
        self.first = stage.published

    def numbers(self) -> list[int]:
        """Numbers of the notifications received; only whole pings may stand between them."""
        taken = self.kernel.taken
        assert re.fullmatch(rb"(?:<\d+:\.*>|\{\})*", taken), taken
        return [int(number) for number in re.findall(rb"<(\d+):", taken)]


class Stage:
    """A channel, and slices that write to one connection after the other."""

    def __init__(self, readers: int) -> None:
        self.loop = FakeLoop()
        self.flusher = Flusher(cast(Any, self.loop), frames_max=10_000, bytes_max=10**7)
        self.channel = Channel()
        self.published = 0
        self.readers: list[Reader] = []
        for _ in range(readers):
            self.come(MUCH)

    def come(self, room: int) -> None:
        self.readers.append(Reader(self, room))

    def publish(self, padding: int = 0) -> None:
        self.flusher.append(self.channel, b"<%d:%s>" % (self.published, b"." * padding))
        self.published += 1

    def turn(self, writes: int) -> None:
        left = iter(range(writes - 1))
        self.flusher._flush_slice(Pause(lambda: next(left, None) is None, every=1))

    def ping(self, number: int, room: int) -> None:
        """To one alone, whose kernel takes no more than `room`, which may be a part of what the stream has for it."""
        reader = self.readers[number % len(self.readers)]
        reader.kernel.room = room
        reader.connection.write(PING)

    def give_room(self, number: int, room: int) -> None:
        reader = self.readers[number % len(self.readers)]
        reader.kernel.room = room
        if self.loop.wants_write.get(reader.kernel.fd):
            reader.connection.on_events(epoll.OUT)

    def leave(self, number: int) -> None:
        self.readers[number % len(self.readers)].connection.drop(CLOSED_LOST)

    def finish(self) -> None:
        for number, reader in enumerate(self.readers):
            self.give_room(number, MUCH)
            # A push ends with its time, which on a busy machine is after any call.
            while self.loop.wants_write.get(reader.kernel.fd):
                reader.connection.on_events(epoll.OUT)
        while self.flusher._flush_slice(Pause(lambda: False)):
            pass

    def check(self) -> None:
        for reader in self.readers:
            numbers = reader.numbers() if not reader.connection.closed else []
            assert not numbers or numbers[0] == reader.first
            assert numbers == list(range(reader.first, reader.first + len(numbers)))
            if not reader.connection.closed:
                assert len(numbers) == self.published - reader.first


def test_a_blocked_connection_takes_nothing_from_those_after_it_in_a_round() -> None:
    stage = Stage(3)
    stage.publish()
    stage.turn(1)
    stage.publish()
    stage.publish()

    stage.ping(1, room=len(PING) + 3 * len(b"<0:>") - 1)
    stage.turn(1)

    assert stage.readers[1].connection.is_blocked
    stage.finish()
    assert [reader.numbers() for reader in stage.readers] == [[0, 1, 2]] * 3


def step(stage: Stage, choice: random.Random) -> None:
    """One thing that may happen, drawn."""
    somebody, room = choice.randrange(len(stage.readers)), choice.randrange(60)
    what = choice.choice(["publish", "publish", "turn", "turn", "turn", "ping", "give_room", "come", "leave"])
    if what == "publish":
        stage.publish(choice.randrange(4))
    elif what == "turn":
        stage.turn(choice.randrange(1, 6))
    elif what == "come":
        stage.come(room)
    elif what == "leave":
        stage.leave(somebody)
    else:
        getattr(stage, what)(somebody, room)


@pytest.mark.parametrize("seed", range(8))
def test_every_connection_gets_everything_once_under_any_interleaving(seed: int) -> None:
    choice = random.Random(seed)
    for _ in range(50):
        stage = Stage(choice.randrange(2, 8))
        for _ in range(choice.randrange(10, 60)):
            step(stage, choice)

        stage.finish()

        stage.check()


def test_what_is_not_kept_any_more_is_not_taken_for_what_is() -> None:
    """Counted from the end of what is kept, it would be other notifications' bytes."""
    stream = Stream()
    for frame in (b"<one>", b"<two>", b"<three>"):
        stream.append(frame)
    stream.trim(len(b"<one><two>"))

    with pytest.raises(AssertionError):
        stream.read(len(b"<one>"), 100)
