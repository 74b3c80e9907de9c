"""What recorder costs: CPU of broadcasts to loopback connections, with it and without in turn, in one process.

`pytest -s` prints the figure. In turn, because on a shared machine one half minute differs from the next by more than
what is looked for; CPU time, because others have the processor in between.
"""

from __future__ import annotations

import _socket
import gc
import selectors
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from app.server.fanout.batch_sender import Pause
from app.server.fanout.channel import Channel
from app.server.fanout.closed import CLOSED_LOST
from app.server.fanout.flusher import Flusher
from app.server.fanout.recorder import Recorder
from tests.unit.test_connection import FakeLoop, Probe

pytestmark = [pytest.mark.alone, pytest.mark.nightly]

ROOT = Path(__file__).parents[2]

CONNECTIONS = 250

BROADCASTS = 240

FRAME = b"x" * 330
"""An event of a short notification."""

RATIO_MAX = 1.3
"""Of a bare `send` loop, the least favourable denominator. Found: 1.08 to 1.10."""


def read_for_ever(port: int, count: int) -> None:
    """A process of its own: takes what comes on so many connections, until the first of them ends."""
    selector = selectors.DefaultSelector()
    for _ in range(count):
        selector.register(socket.create_connection(("127.0.0.1", port)), selectors.EVENT_READ)
    while True:
        for key, _ in selector.select():
            if not cast(socket.socket, key.fileobj).recv(65_536):
                return


@contextmanager
def audience_of(count: int) -> Iterator[tuple[Flusher, Channel]]:
    flusher, channel = (
        Flusher(cast(Any, FakeLoop()), frames_max=1000, bytes_max=10_000_000),
        Channel(),
    )
    with socket.create_server(("127.0.0.1", 0), backlog=count) as listener:
        program = f"from {__name__} import *; read_for_ever({listener.getsockname()[1]}, {count})"
        with subprocess.Popen([sys.executable, "-c", program], cwd=ROOT) as readers:
            for _ in range(count):
                sock = _socket.socket(fileno=listener.accept()[0].detach())
                sock.setblocking(False)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                Probe(flusher, cast(Any, sock)).join(channel)
            yield flusher, channel
            for connection in list(channel.members):
                connection.drop(CLOSED_LOST)
            readers.wait(10)


@pytest.mark.nightly
@pytest.mark.skipif(sys.platform != "linux", reason="its figure is Linux's")
def test_recording_costs_a_fraction_of_a_send() -> None:
    cpu_us: dict[bool, list[float]] = {False: [], True: []}
    with audience_of(CONNECTIONS) as (flusher, channel):
        recorder = Recorder(notifications=BROADCASTS, connections=CONNECTIONS)
        for connection in channel.members:
            recorder.joined(channel, connection)
        gc.collect()

        for number in range(BROADCASTS):
            is_on = number % 2 == 1
            channel.recorder = recorder if is_on else None
            flusher.append(channel, FRAME)
            before_ns = time.process_time_ns()
            while flusher._flush_slice(Pause(lambda: False)):
                pass
            cpu_us[is_on].append((time.process_time_ns() - before_ns) / 1000 / CONNECTIONS)
            time.sleep(0.005)  # A paced broadcast: readers are done before the next.

    off, on = statistics.median(cpu_us[False]), statistics.median(cpu_us[True])
    print(f"\nrecording: {on:.2f} us per send, without {off:.2f}: ratio of medians {on / off:.3f}")
    assert recorder.count == CONNECTIONS * BROADCASTS // 2
    assert on < RATIO_MAX * off
