"""The loop of connections that were taken over: whoever is slow to handle holds up one turn, and nobody is forgotten."""

from __future__ import annotations

import socket
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from app.server.wsgi.loop import EVENTS_MAX, RETRY_US, SLICE_US, Loop

PATIENCE_S = 60.0

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the loop stands on epoll and eventfd")


class Slow:
    """Reads what came and takes as long as a turn about it; then a timer is due."""

    def __init__(self, loop: Loop, sock: socket.socket, name: str, told: list[str]) -> None:
        self._loop = loop
        self._sock = sock
        self._name = name
        self._told = told

    def on_events(self, _events: int) -> None:
        self._sock.recv(100)
        time.sleep(SLICE_US / 1e6)
        self._told.append(self._name)
        self._loop.call_once(0, lambda: self._told.append("timer"))


@pytest.fixture
def pairs() -> Iterator[list[tuple[socket.socket, socket.socket]]]:
    found = [socket.socketpair() for _ in range(EVENTS_MAX)]
    yield found
    for pair in found:
        for each in pair:
            each.close()


def test_a_slow_handler_ends_the_iteration_and_the_remaining_events_are_not_lost(
    pairs: list[tuple[socket.socket, socket.socket]],
) -> None:
    loop, told, is_over = Loop(), list[str](), threading.Event()
    for number, (ours, theirs) in enumerate(pairs):
        theirs.sendall(b"x")
        loop.watch(ours.fileno(), Slow(loop, ours, str(number), told), read=False)

    def read_all(_now_us: int) -> None:
        """Run in the loop's own thread, so that all events come in one batch."""
        for ours, _theirs in pairs:
            loop.want(ours.fileno(), read=True, write=False)

    def look(now_us: int) -> int | None:
        if len(told) < 2 * EVENTS_MAX:
            return now_us + SLICE_US
        is_over.set()
        return None

    loop.call_at(0, read_all)
    loop.call_at(0, look)

    assert is_over.wait(PATIENCE_S), told
    assert told[1::2] == ["timer"] * EVENTS_MAX
    assert sorted(told[::2], key=int) == [str(number) for number in range(EVENTS_MAX)]


def test_a_failing_timer_is_called_again_and_a_failing_single_call_is_not() -> None:
    loop, is_over = Loop(), threading.Event()
    calls_once: list[str] = []
    beats_us: list[int] = []

    def beat(now_us: int) -> None:
        beats_us.append(now_us)
        if len(beats_us) == 1:
            raise RuntimeError("a bug of a heartbeat")
        is_over.set()

    def fail() -> None:
        """Before the heartbeat does, so that it would be called again before it."""
        calls_once.append("called")
        loop.call_at(0, beat)
        raise RuntimeError("a bug of something else")

    loop.call_once(0, fail)

    assert is_over.wait(PATIENCE_S)
    assert beats_us[1] - beats_us[0] >= RETRY_US
    assert calls_once == ["called"]
