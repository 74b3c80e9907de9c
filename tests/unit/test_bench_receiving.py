"""What a swarm reads from many connections is what each of them has, by one call or one by one."""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest

from app import clock
from app.core import kernel_stamps
from app.tools.bench import receiving
from app.tools.bench.receiving import READ_BATCH, READ_BYTES, Receiver
from tests.support.kernel_ring import needs_ring

LATE_S = 0.02
CONVERTED_US = 50
"""By which two clocks, read one after the other, may seem apart."""

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="the swarm stands on epoll and SO_TIMESTAMPNS"
)


@pytest.fixture(params=[pytest.param(True, marks=needs_ring, id="io_uring"), pytest.param(False, id="recv")])
def receiver(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    if not request.param:

        def refuse(_operation: int) -> None:
            raise PermissionError

        monkeypatch.setattr(receiving, "Ring", refuse)
    made = Receiver()
    assert (made._ring is not None) is request.param
    yield made
    if made._ring is not None:
        made._ring.close()


def test_each_has_its_own_in_order_and_nothing_and_its_end(receiver: Receiver) -> None:
    pairs = [socket.socketpair() for _ in range(READ_BATCH)]
    for ours, _ in pairs:
        ours.setblocking(False)
    connections: list[Any] = [SimpleNamespace(sock=ours, fd=ours.fileno()) for ours, _ in pairs]
    pairs[5][1].close()
    for turn in range(40):
        expected: list[bytes | None] = []
        for index, (_, theirs) in enumerate(pairs):
            data = b"%d:" % index * (turn + 1)
            if index == 5:
                expected.append(b"")
            elif index % 4 == 3:
                expected.append(None)
            else:
                theirs.send(data)
                expected.append(data)

        reads, arrivals_us, reads_us = receiver.read(cast(Any, connections))

        assert reads == expected
        assert len(arrivals_us) == len(reads_us) == READ_BATCH
        assert reads_us == sorted(reads_us)
    for ours, theirs in pairs:
        ours.close()
        theirs.close()


def test_a_batch_without_data_returns_nothing_however_often_it_is_read(receiver: Receiver) -> None:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    connections: Any = [SimpleNamespace(sock=ours, fd=ours.fileno())]

    assert [receiver.read(connections)[0] for _ in range(READ_BATCH)] == [[None]] * READ_BATCH
    ours.close()
    theirs.close()


def test_what_is_longer_than_a_read_comes_with_the_next(receiver: Receiver) -> None:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    connections: Any = [SimpleNamespace(sock=ours, fd=ours.fileno())]
    data = bytes(range(256)) * (2 * READ_BYTES // 256) + b"end"
    theirs.send(data)

    pieces = [receiver.read(connections)[0][0] for _ in range(4)]

    assert pieces == [data[:READ_BYTES], data[READ_BYTES : 2 * READ_BYTES], b"end", None]
    ours.close()
    theirs.close()


@contextmanager
def subscribers(count: int, *, stamped: bool = True) -> Iterator[tuple[list[Any], list[socket.socket]]]:
    """TCP connections as a swarm has them, and their server's ends."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        ours, theirs = [], []
        for _ in range(count):
            sock = stack.enter_context(socket.create_connection(listener.getsockname()))
            sock.setblocking(False)
            if stamped:
                assert kernel_stamps.enable(sock)
            ours.append(SimpleNamespace(sock=sock, fd=sock.fileno()))
            theirs.append(stack.enter_context(listener.accept()[0]))
        yield ours, theirs


def send_until_told(receiver: Receiver, ours: list[Any], theirs: list[socket.socket]) -> None:
    """The first stamps are missing while the kernel switches them on."""
    deadline_us = clock.monotonic_us() + 5_000_000
    while True:
        receiver.begin()
        theirs[0].send(b"x")
        if not all(receiver.read(ours[:1])[0]):
            continue
        if not receiver.unstamped:
            return
        assert clock.monotonic_us() < deadline_us


def test_a_late_read_has_the_arrival_time_of_each(receiver: Receiver) -> None:
    with subscribers(2 * READ_BATCH) as (ours, theirs):
        send_until_told(receiver, ours, theirs)
        for turn in range(6):  # More than once around the places.
            sent_us = []
            for index, each in enumerate(theirs):
                if index % 5:
                    sent_us.append(clock.monotonic_us())
                    each.send(b"%d" % (index + turn))
                    time.sleep(0.000_2)
            time.sleep(LATE_S)
            begin_us = clock.monotonic_us()
            found = [
                receiver.read(ours[at : at + step])
                for at, step in ((0, 13), (13, READ_BATCH), (13 + READ_BATCH, READ_BATCH - 13))
            ]

            arrivals_us = [arrival for one in found for read, arrival in zip(*one[:2], strict=True) if read]
            reads_us = [
                read_us for one in found for read, read_us in zip(one[0], one[2], strict=True) if read
            ]
            assert all(each >= begin_us for each in reads_us)
            assert receiver.unstamped == 0
            # No later than the next was sent, nor earlier than it was: between them lie 0.2 ms.
            for sent, arrived, following in zip(sent_us, arrivals_us, [*sent_us[1:], begin_us], strict=True):
                assert sent - CONVERTED_US <= arrived <= following + CONVERTED_US


def test_a_kernel_that_does_not_tell_is_counted_and_then_it_is_the_reading(receiver: Receiver) -> None:
    with subscribers(3, stamped=False) as (ours, theirs):
        for each in theirs[:2]:
            each.send(b"data")

        reads, arrivals_us, reads_us = receiver.read(ours)

        assert reads == [b"data", b"data", None]
        assert arrivals_us[:2] == reads_us[:2]
        assert receiver.unstamped == 2
        receiver.begin()
        assert receiver.unstamped == 0


def test_a_clock_that_was_set_within_a_window_is_noticed(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    receiver.begin()
    assert receiver.clock_step_us() < CONVERTED_US
    true_us = clock.kernel_offset_us()

    monkeypatch.setattr(clock, "kernel_offset_us", lambda: true_us - 2_500.0)

    assert receiver.clock_step_us() == pytest.approx(2_500, abs=CONVERTED_US)
