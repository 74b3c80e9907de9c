"""The bench's swarm leaves to the server what is the server's: it is not woken by each `send`, nor acknowledges in it."""

from __future__ import annotations

import itertools
import json
import os
import select
import socket
import sys
import time
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app import clock
from app.core.wire import TRANSPORT_SSE, TRANSPORTS
from app.tools.bench import swarm_process, wire
from app.tools.bench.connection import RECEIVE_BUFFER_BYTES, Connection
from app.tools.bench.decoding import parse_events
from app.tools.bench.receiving import Receiver
from app.tools.bench.record import UNKNOWN_ARRIVAL, Record
from app.tools.bench.swarm import UNREAD_US_MAX, Swarm

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
        self.disconnects = self.torn = self.idle = 0
        self.failures: list[str] = []

    def read(self, _events: list[tuple[int, int]], _since_us: int) -> None:
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
def test_within_a_window_the_swarm_rests_after_an_iteration_with_few_messages(
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
    assert slept_s == [swarm_process.PAUSE_S] * rests


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_its_window_is_bounded_by_memory_from_the_handshake_on(transport: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        host, port = server.getsockname()
        connection = Connection(transport, host, port, None)

        # The kernel doubles what is asked for, to have room for its own.
        given = connection.sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)

        connection.close()
        assert given == 2 * RECEIVE_BUFFER_BYTES


class Reading:
    """In a receiver's place: what each connection of a batch has, and when it had come."""

    def __init__(self, *batches: Sequence[tuple[bytes | None, int]]) -> None:
        self._batches = iter(batches)

    def read(self, _connections: list[Connection]) -> tuple[list[bytes | None], list[int], list[int]]:
        batch = next(self._batches)
        return [data for data, _ in batch], [arrival_us for _, arrival_us in batch], [10**6] * len(batch)


def events(*offsets: int) -> bytes:
    return b"".join(wire.frame(wire.notification("e0000000", each), TRANSPORT_SSE) for each in offsets)


def test_what_may_have_lain_unread_for_long_has_an_arrival_only_by_itself() -> None:
    """Of what is read together the kernel tells when the last of it came, and it may have come in several writes."""
    swarm = Swarm()
    since_us = 500_000
    sure_us, late_us = since_us + UNREAD_US_MAX, since_us + UNREAD_US_MAX + 1
    arrived = [
        (events(1, 2), sure_us),
        (events(1), late_us),
        (events(1, 2), late_us),
        (events(1, 2), late_us),
    ]
    with socket.create_server(("127.0.0.1", 0)) as server:
        host, port = server.getsockname()
        members = [Connection(TRANSPORT_SSE, host, port, None) for _ in arrived]
        for each in members:
            each.is_live, each.last = True, 0
            swarm.table[each.fd] = each
        cast(Any, swarm).receiver = Reading(arrived)

        swarm.read([(each.fd, select.EPOLLIN) for each in members], since_us)

        for each in members:
            each.close()
    assert list(swarm.record.arrivals_us) == [sure_us, late_us, UNKNOWN_ARRIVAL, UNKNOWN_ARRIVAL]
    assert [each.last for each in members] == [2, 1, 2, 2]


RUNS = st.sampled_from(
    [events(1), events(1, 2), events(2), events(1, 3), b": a comment\n\n", events(1)[:9], None]
)


@given(
    st.lists(st.lists(RUNS, min_size=1, max_size=2), min_size=1, max_size=6),
    st.lists(st.booleans(), min_size=1),
    st.lists(st.integers(0, 2), min_size=4, max_size=4),
)
def test_accounting_for_a_batch_at_once_equals_accounting_one_by_one(
    batches: list[list[bytes | None]], lates: list[bool], lasts: list[int]
) -> None:
    late = itertools.cycle(lates)
    sure_us = UNREAD_US_MAX
    batches_of = [[(data, sure_us + next(late)) for data in batch] for batch in batches]

    accounts = []
    for is_at_once in (True, False):
        swarm = Swarm()
        if not is_at_once:
            cast(Any, swarm)._account_equal = lambda *_: False
        members = [Member(last) for last in lasts]
        for number, arrived in enumerate(batches_of):
            cast(Any, swarm).receiver = Reading(arrived)
            some = members[:2] if number % 2 == 0 else members[2:]
            swarm._read(cast(Any, some[: len(arrived)]), sure_us)
        record = swarm.record
        rows = list(zip(record.arrivals_us, record.firsts, record.counts, strict=True))
        assert len(record.reads_us) == len(rows)
        accounts.append((rows, swarm.idle, [vars(each) for each in members]))

    assert accounts[0] == accounts[1]


def test_a_batch_accounted_for_at_once_continues_from_the_batch_before() -> None:
    swarm = Swarm()
    members = [Member(0) for _ in range(4)]
    done, data = [], events(1)
    for some in (members[:2], members[2:]):
        batch = cast(Any, ([data] * 2, [1, 2], [3, 4]))
        done.append(swarm._account_equal(cast(Any, some), batch, 0))
        if not done[-1]:
            swarm._account_each(cast(Any, some), batch, 0)

    assert done == [False, True]
    assert list(swarm.record.arrivals_us) == [1, 2, 1, 2]
    assert [each.last for each in members] == [1] * 4


class Member:
    """What a swarm knows of a connection."""

    is_sse = True

    def __init__(self, last: int) -> None:
        self.last = last
        self.rest = b""
        self.taken: list[int] = []

    def parse(self, data: bytes) -> Any:
        return parse_events(data)

    def check(self, offsets: tuple[int, ...]) -> None:
        self.taken += offsets
        self.last = max(self.last, *offsets)


def told_since(poll: Any, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """What a swarm's loop says of how long unread bytes may have been there, in each turn."""
    since_us: list[int] = []
    swarm = ScriptedSwarm(poll)
    monkeypatch.setattr(swarm, "read", lambda _events, each_us: since_us.append(each_us))
    swarm_process.Commands(cast(Any, swarm)).run()
    return since_us


def test_unread_bytes_came_after_the_poll_before_or_after_one_that_found_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However long a poll took: to tell of a thousand that were there long before may take longer than to wait for one."""
    reading, writing = os.pipe()
    monkeypatch.setattr(swarm_process, "COMMAND_FD", reading)
    now_us = 10**9
    monkeypatch.setattr(clock, "monotonic_us", lambda: now_us)
    all_at_once = swarm_process.EVENTS_MAX
    turns = iter([(1, 50), (2, 9_000), (0, 1), (3, 700), (all_at_once, 90), (4, 10), (5, 20)])

    class Poll(ScriptedPoll):
        def poll(self, timeout_s: float | None, most: int) -> list[tuple[int, int]]:
            nonlocal now_us
            turn = next(turns, None)
            if turn is None:
                return super().poll(timeout_s, most)
            count, took_us = turn
            assert not timeout_s or count == 3, "only the turn behind one that found nothing may wait"
            now_us += took_us
            return [(10_000 + each, select.EPOLLIN) for each in range(count)]

    found = told_since(Poll([], writing), monkeypatch)

    first_us = 10**9
    second_us = first_us + 50
    third_us = second_us + 9_000
    waited_us = third_us + 1
    # The sixth looks at what the fifth, which told of as many as it may, has perhaps left out; so it has the same beginning.
    fifth_us = waited_us + 700
    assert found[:6] == [0, first_us, third_us, waited_us, waited_us, fifth_us + 90]
