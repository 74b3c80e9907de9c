"""What a swarm reads from many connections is what each of them has, by one call or one by one."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from app.bench import receiving
from app.bench.receiving import LOT, READ_BYTES, Receiver
from tests.support.kernel_ring import needs_ring


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
    pairs = [socket.socketpair() for _ in range(LOT)]
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

        reads, stamps_us = receiver.read(cast(Any, connections))

        assert reads == expected
        assert len(stamps_us) == LOT
        assert stamps_us == sorted(stamps_us)
    for ours, theirs in pairs:
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
