"""The outgoing side of an Engine.IO session by itself: no server, no session, and a channel that is a list."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from engineio.packet import Packet

from app.server.transports.socket_io.engine.outgoing import ConcurrentPoll, Outgoing
from app.server.transports.socket_io.engine.packets import message

LIMIT_S = 20


class ListChannel:
    """A channel that remembers what it was sent."""

    def __init__(self) -> None:
        self.sent: list[str | bytes] = []
        self.closed = False
        self.waiting_count = 0

    def send_packet(self, pkt: Packet) -> None:
        self.sent.append(pkt.encode())

    def close(self) -> None:
        self.closed = True

    def cut(self) -> None:
        self.closed = True


@pytest.fixture
def outgoing() -> Outgoing:
    return Outgoing(threading.Lock())


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor() as found:
        yield found


def for_ever() -> None:
    """Hold a poll until something comes."""


def poll(outgoing: Outgoing, hold_s: Callable[[], float | None] = for_ever) -> list[str | bytes] | None:
    packets = outgoing.poll(None, hold_s=hold_s)
    return None if packets is None else [each.encode() for each in packets]


def begin_poll(outgoing: Outgoing, pool: ThreadPoolExecutor) -> Future[list[str | bytes] | None]:
    is_held = threading.Event()

    def hold_s() -> None:
        is_held.set()

    waiting = pool.submit(poll, outgoing, hold_s)
    assert is_held.wait(LIMIT_S)
    return waiting


def test_what_is_sent_waits_for_the_next_poll(outgoing: Outgoing) -> None:
    for text in ("a", "b"):
        outgoing.send(message(text))

    assert (outgoing.has_waiting, outgoing.waiting_count) == (True, 2)
    assert poll(outgoing) == ["4a", "4b"]
    assert (outgoing.has_waiting, outgoing.waiting_count) == (False, 0)


def test_a_poll_waits_for_what_is_sent(outgoing: Outgoing, pool: ThreadPoolExecutor) -> None:
    waiting = begin_poll(outgoing, pool)

    outgoing.send(message("a"))

    assert waiting.result(LIMIT_S) == ["4a"]
    assert not outgoing.is_polled


def test_a_poll_that_gets_nothing_gets_a_noop(outgoing: Outgoing, pool: ThreadPoolExecutor) -> None:
    waiting = begin_poll(outgoing, pool)

    outgoing.end_poll()

    assert waiting.result(LIMIT_S) == ["6"]
    assert poll(outgoing, lambda: 0.001) == ["6"]


def test_one_poll_at_a_time(outgoing: Outgoing, pool: ThreadPoolExecutor) -> None:
    waiting = begin_poll(outgoing, pool)

    with pytest.raises(ConcurrentPoll):
        poll(outgoing)

    assert outgoing.is_polled
    outgoing.end_poll()
    waiting.result(LIMIT_S)


def test_a_websocket_takes_over_what_waits_and_ends_polling(
    outgoing: Outgoing, pool: ThreadPoolExecutor
) -> None:
    channel = ListChannel()
    outgoing.send(message("waits"))

    outgoing.attach(channel, message("opening"))
    outgoing.send(message("later"))

    assert channel.sent == ["4opening", "4waits", "4later"]
    assert outgoing.upgraded
    assert poll(outgoing) is None


def test_a_waiting_poll_ends_when_a_websocket_takes_over(
    outgoing: Outgoing, pool: ThreadPoolExecutor
) -> None:
    waiting = begin_poll(outgoing, pool)

    outgoing.attach(ListChannel())

    assert waiting.result(LIMIT_S) is None


def test_the_end_begins_once_and_then_no_websocket_is_attached(outgoing: Outgoing) -> None:
    channel = ListChannel()

    begun = [outgoing.begin_close() for _ in range(2)]
    outgoing.attach(channel)

    assert begun == [True, False]
    assert (channel.closed, outgoing.channel) == (True, None)


@pytest.mark.parametrize(
    ("abort", "sends_close", "polled"),
    [
        (False, True, ["4last", "1"]),
        (False, False, ["4last"]),
        (True, True, None),
        (True, False, None),
    ],
)
def test_what_waits_at_the_end_may_still_be_polled(
    outgoing: Outgoing, abort: bool, sends_close: bool, polled: list[str] | None
) -> None:
    outgoing.send(message("last"))

    channel, lingers = outgoing.close(abort=abort, sends_close=sends_close)
    outgoing.send(message("too late"))

    assert (channel, lingers) == (None, polled is not None)
    assert poll(outgoing) == polled
    assert poll(outgoing) is None


def test_the_end_of_a_websocket_is_left_to_the_caller(outgoing: Outgoing) -> None:
    channel = ListChannel()
    outgoing.attach(channel)

    found, lingers = outgoing.close(abort=False, sends_close=True)
    outgoing.send(message("too late"))

    assert found is channel
    assert (channel.sent, channel.closed, lingers, outgoing.channel) == ([], False, False, None)


def test_the_poll_that_waits_at_the_end_takes_the_close_packet(
    outgoing: Outgoing, pool: ThreadPoolExecutor
) -> None:
    waiting = begin_poll(outgoing, pool)

    _channel, lingers = outgoing.close(abort=False, sends_close=True)

    assert not lingers
    assert waiting.result(LIMIT_S) == ["1"]
