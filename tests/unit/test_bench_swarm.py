"""The bench's swarm leaves to the server what is the server's: it is not woken by each `send`, nor acknowledges in it."""

from __future__ import annotations

import json
import os
import select
import socket
import sys
import time
from types import SimpleNamespace
from typing import Any, cast

import pytest

from app.bench import swarm_process
from app.bench.connection import RECEIVE_BUFFER_BYTES, Connection
from app.bench.receiving import Receiver
from app.bench.record import Record
from app.core.wire import TRANSPORTS

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the swarm stands on epoll")

BEGIN = json.dumps({"do": "begin", "offset": 0})
END = json.dumps({"do": "end", "offset": 0, "first": 1, "starts_us": [], "merges": True})
FEW = swarm_process.FEW


class ScriptedPoll:
    """Sees in each turn what the script says: a number of connections with something to read, or a command."""

    def __init__(self, script: list[int | str], commands: int) -> None:
        self._turns = iter(script)
        self._commands = commands
        self._command_fd = -1

    def register(self, fd: int, _mask: int) -> None:
        self._command_fd = fd

    def poll(self, _timeout_s: float | None, _most: int) -> list[tuple[int, int]]:
        turn = next(self._turns, None)
        if isinstance(turn, int):
            return [(10_000 + each, select.EPOLLIN) for each in range(turn)]
        if turn is None:
            os.close(self._commands)
        else:
            os.write(self._commands, turn.encode() + b"\n")
        return [(self._command_fd, select.EPOLLIN)]


class ScriptedSwarm:
    """Has no connections."""

    def __init__(self, poll: ScriptedPoll) -> None:
        self.poll = poll
        self.ready: list[Connection] = []
        self.record = Record()
        self.receiver = Receiver()
        self.disconnects = self.idle = 0
        self.failures: list[str] = []

    def take(self, _events: list[tuple[int, int]]) -> None:
        pass

    def begin(self, _offset: int) -> int:
        return 0


@pytest.mark.parametrize(
    ("script", "rests"),
    [
        ([1, 3], 0),
        ([BEGIN, 1, 3, FEW - 1], 3),
        ([BEGIN, FEW, 10 * FEW], 0),
        ([BEGIN, 1, END, 1, 3], 1),
    ],
    ids=["no window", "few", "many", "a window that has ended"],
)
def test_within_a_window_it_rests_behind_a_turn_with_few_messages(
    script: list[int | str], rests: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, writing = os.pipe()
    slept_s: list[float] = []
    monkeypatch.setattr(swarm_process, "COMMAND_FD", reading)
    # Its own `time`, and not everybody's: other threads of this process sleep, too.
    own_time = SimpleNamespace(sleep=slept_s.append, process_time=time.process_time)
    monkeypatch.setattr(swarm_process, "time", own_time)

    swarm_process.Commands(cast(Any, ScriptedSwarm(ScriptedPoll(script, writing)))).run()

    os.close(reading)
    assert slept_s == [swarm_process.REST_S] * rests


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_its_window_is_bounded_by_memory_from_the_handshake_on(transport: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        host, port = server.getsockname()
        connection = Connection(transport, host, port, None)

        # The kernel doubles what is asked for, to have room for its own.
        given = connection.sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)

        connection.close()
        assert given == 2 * RECEIVE_BUFFER_BYTES
