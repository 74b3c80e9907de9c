"""The clients' loop: stamps first, timers, and what it says of its own lateness."""

import os
import select
import socket
import sys
import time
from functools import partial

import pytest

from app import clock
from app.core.units import MonotonicUs
from app.lab.run.links import Chunk, Link, Loop
from app.lab.run.ticker import PERIOD_US, Ticker

LINKS = 5

HOUR_US = 3_600_000_000

ROUNDED_US = 1
"""Our clock tells whole microseconds, the ticker parts of them."""


def test_what_is_ready_together_is_stamped_before_anything_is_decoded() -> None:
    loop, stamps_us, decoded_us, links = Loop(), [], [], []

    def decode(chunk: Chunk) -> None:
        decoded_us.append(clock.monotonic_us())
        stamps_us.append(chunk.read_us)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        for _ in range(LINKS):
            link = Link("127.0.0.1", listener.getsockname()[1], on_open=lambda: None, on_chunk=decode)
            loop.add(link)
            links.append(link)
        peers = [listener.accept()[0] for _ in range(LINKS)]
        while not all(link.is_open for link in links):
            loop.turn()
        for peer in peers:
            peer.sendall(b"x")
        while len(select.select([link.socket for link in links], [], [])[0]) < LINKS:
            pass  # A busy kernel hands over what was sent only after a moment.
        while len(stamps_us) < LINKS:
            loop.turn()

        for link, peer in zip(links, peers, strict=True):
            loop.remove(link)
            peer.close()
    assert max(stamps_us) <= min(decoded_us)


@pytest.mark.skipif(sys.platform != "linux", reason="SO_TIMESTAMPNS is Linux's")
def test_the_kernel_s_stamp_is_between_sending_and_reading() -> None:
    loop, chunks, sent_us = Loop(), list[Chunk](), 0
    with socket.create_server(("127.0.0.1", 0)) as listener:
        link = Link("127.0.0.1", listener.getsockname()[1], on_open=lambda: None, on_chunk=chunks.append)
        loop.add(link)
        peer = listener.accept()[0]
        deadline_s = time.monotonic() + 5
        while (
            time.monotonic() < deadline_s
        ):  # The first stamps are missing while the kernel switches them on.
            chunks.clear()
            sent_us = clock.monotonic_us()
            peer.sendall(b"x")
            while not chunks:
                loop.turn()
            if chunks[0].kernel_ns is not None:
                break
        loop.remove(link)
        peer.close()

    assert chunks[0].kernel_ns is not None
    kernel_us = chunks[0].kernel_ns / 1000 + clock.kernel_offset_us()
    assert sent_us - 200 <= kernel_us <= chunks[0].read_us + 200


def test_what_the_kernel_does_not_take_at_once_goes_when_there_is_room() -> None:
    loop, data = Loop(), b"0123456789" * 500_000
    received = bytearray()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        link = Link(
            "127.0.0.1",
            listener.getsockname()[1],
            on_open=lambda: loop.send(link, data),
            on_chunk=lambda chunk: None,
        )
        loop.add(link)
        peer = listener.accept()[0]
        peer.settimeout(0)

        def look_again() -> None:  # Else the loop would wait for a link that has nothing more to do.
            loop.call_later(1000, look_again)

        look_again()
        while len(received) < len(data):
            loop.turn()
            try:
                received += peer.recv(1_000_000)
            except BlockingIOError:
                continue
        loop.remove(link)
        peer.close()

    assert received == data


def test_a_link_removed_by_an_earlier_event_of_the_same_iteration_is_left_alone() -> None:
    """As when clients are let go while one of them comes back: its socket is closed and cannot be asked any more."""
    loop = Loop()
    command_fd, runner_fd = os.pipe()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        link = Link("127.0.0.1", listener.getsockname()[1], on_open=lambda: None, on_chunk=lambda chunk: None)
        os.write(runner_fd, b"x")
        loop.watch(command_fd, lambda: loop.remove(link))
        loop.add(link)

        loop.turn()

    assert not link.is_open
    os.close(command_fd)
    os.close(runner_fd)


def test_timers_run_in_the_order_in_which_they_are_due(monkeypatch: pytest.MonkeyPatch) -> None:
    now_us = 10**9
    monkeypatch.setattr(clock, "monotonic_us", lambda: MonotonicUs(now_us))
    loop, ran = Loop(), list[str]()
    for delay_us, name in ((3000, "last"), (0, "first"), (1000, "second")):
        loop.call_later(delay_us, partial(ran.append, name))

    loop.turn()
    assert ran == ["first"]

    now_us += 3000
    loop.turn()
    assert ran == ["first", "second", "last"]


@pytest.mark.skipif(sys.platform != "linux", reason="timerfd is Linux's")
def test_a_loop_that_is_held_up_says_for_how_long() -> None:
    began_us = clock.monotonic_us()
    ticker = Ticker()

    time.sleep(0.05)

    lag_us = ticker.lag_us()
    taken_us = clock.monotonic_us() - began_us
    assert lag_us is not None
    assert 50_000 - PERIOD_US <= lag_us <= taken_us - PERIOD_US + ROUNDED_US


@pytest.mark.skipif(sys.platform != "linux", reason="timerfd is Linux's")
def test_a_loop_without_a_tick_has_no_lag() -> None:
    assert Ticker(period_us=HOUR_US).lag_us() is None
