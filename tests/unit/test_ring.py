"""A batch of sends or receives by one call has the results of that many calls, in their order."""

from __future__ import annotations

import ctypes
import errno
import socket
import sys
from array import array
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.server.fanout import ring as ring_module
from app.server.fanout.ring import BATCH_MAX, RECEIVE_MESSAGE, SEND, Ring
from app.tools.bench.messages import Messages
from tests.support.kernel_ring import OFFERED, needs_ring

NO_DESCRIPTOR = 1_000_000


@contextmanager
def pairs(count: int) -> Iterator[list[tuple[socket.socket, socket.socket]]]:
    """Ours, which do not wait, and their peers'."""
    with ExitStack() as stack:
        made = [socket.socketpair() for _ in range(count)]
        for ours, theirs in made:
            ours.setblocking(False)
            theirs.setblocking(False)
            stack.enter_context(ours)
            stack.enter_context(theirs)
        yield made


def point_to(ring: Ring, data: bytes) -> None:
    address = ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value or 0
    ring.set_buffers(array("Q", [address]) * BATCH_MAX, array("I", [len(data)]) * BATCH_MAX)


def send(ring: Ring, sockets: list[socket.socket], data: bytes) -> list[int] | None:
    point_to(ring, data)
    return ring.prepare_and_submit(array("i", [each.fileno() for each in sockets]), len(data))


def one_send(sock: socket.socket, data: bytes) -> int:
    """Return what `send` returns, or the negative errno."""
    try:
        return sock.send(data)
    except OSError as error:
        return -(error.errno or 0)


def test_a_ring_opens_wherever_the_kernel_allows_it() -> None:
    if OFFERED:
        Ring(SEND).close()
    else:
        with pytest.raises(OSError, match=r".+"):
            Ring(SEND)


@needs_ring
def test_batches_of_every_size_reach_all_from_any_queue_position() -> None:
    with closing(Ring(SEND)) as ring, pairs(BATCH_MAX) as made:
        for size in (*range(1, BATCH_MAX + 1), 1, BATCH_MAX, BATCH_MAX - 1):
            data = b"batch of %d" % size
            batch = made[BATCH_MAX - size :]

            results = send(ring, [ours for ours, _ in batch], data)

            assert results in (None, [len(data)] * size), (
                "a list if the completion queue wraps around within the batch"
            )
            assert [theirs.recv(100) for _, theirs in batch] == [data] * size


@needs_ring
def test_the_pattern_cache_is_bounded() -> None:
    with closing(Ring(SEND)) as ring, pairs(2) as made:
        for size in range(1, 3 * ring_module._PATTERNS_MAX):
            results = send(ring, [ours for ours, _ in made], b"x" * size)

            assert results in (None, [size] * 2)
            assert [theirs.recv(1_000) for _, theirs in made] == [b"x" * size] * 2
        assert len(ring._patterns) <= ring_module._PATTERNS_MAX


FATES = st.sampled_from(["reads", "full", "nearly full", "gone", "no descriptor"])


@needs_ring
@given(st.lists(st.lists(FATES, min_size=1, max_size=12), min_size=1, max_size=8))
def test_each_result_equals_that_of_send(batches: list[list[str]]) -> None:
    data = b"x" * 3_000
    with closing(Ring(SEND)) as ring:
        for fates in batches:
            with pairs(len(fates)) as made, pairs(len(fates)) as twins:
                fds = []
                expected = []
                for fate, (ours, theirs), (twin, twin_peer) in zip(fates, made, twins, strict=True):
                    for each, peer in ((ours, theirs), (twin, twin_peer)):
                        _meet(fate, each, peer)
                    fds.append(ours.fileno() if fate != "no descriptor" else NO_DESCRIPTOR)
                    expected.append(one_send(twin, data) if fate != "no descriptor" else -errno.EBADF)
                point_to(ring, data)

                results = ring.prepare_and_submit(array("i", fds), len(data))

                assert (results or [len(data)] * len(fds)) == expected


def _meet(fate: str, ours: socket.socket, theirs: socket.socket) -> None:
    if fate == "gone":
        theirs.close()
    if fate not in ("full", "nearly full"):
        return
    try:
        while True:
            ours.send(b"y" * 512)
    except BlockingIOError:
        if fate == "nearly full":
            theirs.recv(1_024)


@needs_ring
def test_entries_that_the_kernel_did_not_take_are_not_in_the_next_batch() -> None:
    with closing(Ring(SEND)) as ring, pairs(8) as made:
        sockets = [ours for ours, _ in made]
        enter = ring._enter

        def short(call: int, fd: int, submitted: int, *rest: Any) -> int:
            taken: int = enter(call, fd, min(submitted, 3), min(submitted, 3), *rest[1:])
            return taken

        ring._enter = short
        assert send(ring, sockets, b"first") == [5] * 3
        ring._enter = enter
        assert send(ring, sockets[4:6], b"second") is None

        received = []
        for _, theirs in made:
            try:
                received.append(theirs.recv(100))
            except BlockingIOError:
                received.append(b"")
        assert received == [b"first"] * 3 + [b""] + [b"second"] * 2 + [b""] * 2


@needs_ring
def test_received_data_are_at_their_places_and_empty_sockets_return_eagain() -> None:
    size = 128
    with closing(Ring(RECEIVE_MESSAGE)) as ring, pairs(5) as made:
        messages = Messages(size)
        ring.set_buffers(messages.addresses, array("I", [1]) * BATCH_MAX)
        made[3][1].close()
        fds = array("i", [ours.fileno() for ours, _ in made])
        for number in range(100):  # More than once around.
            for index in (0, 2, 4):
                made[index][1].send(b"%d to %d" % (number, index))

            counts = ring.prepare_and_submit(fds, len(b"0 to 0"))

            assert counts is not None
            assert counts[1] == -errno.EAGAIN
            assert counts[3] == 0
            for index in (0, 2, 4):
                at = (ring.first + index) % BATCH_MAX * size
                assert messages.data[at : at + counts[index]] == b"%d to %d" % (number, index)


@pytest.mark.parametrize(
    ("platform", "answer", "says"),
    [
        ("linux", errno.EPERM, "not permitted"),
        ("linux", errno.ENOSYS, "not implemented"),
        ("darwin", 0, "Linux"),
    ],
)
def test_an_unavailable_ring_raises_with_the_reason(
    platform: str, answer: int, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Libc:
        def __init__(self, *_: Any, **__: Any) -> None:
            self.syscall = Refusal()

    class Refusal:
        restype: Any = None

        def __call__(self, *_: Any) -> int:
            ctypes.set_errno(answer)
            return -1

    monkeypatch.setattr(ctypes, "CDLL", Libc)
    monkeypatch.setattr(sys, "platform", platform)

    with pytest.raises(OSError, match=says):
        Ring(SEND)
