"""The swarm's decoders: any split of the bytes gives the same notifications, and what is wrong is seen."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.errors import MalformedFrame
from app.core.protocol.event_stream import encode_comment, encode_prelude
from app.core.protocol.http_response import LAST_CHUNK, chunk
from app.core.protocol.websocket import Opcode, encode_frame
from app.core.wire import TRANSPORT_SOCKETIO, TRANSPORT_SSE
from app.tools.bench import decoding, wire
from app.tools.bench.decoding import Parsed, parse_events, parse_frames

EPOCH = "2fdf8016"


def text_frame(text: str) -> bytes:
    return encode_frame(Opcode.TEXT, text.encode(), mask=None)


def event(offset: int) -> bytes:
    return wire.frame(wire.notification(EPOCH, offset), TRANSPORT_SSE)


def frame(offset: int) -> bytes:
    return wire.frame(wire.notification(EPOCH, offset), TRANSPORT_SOCKETIO)


HEARTBEAT = encode_comment("heartbeat", id=f"{EPOCH}.7")
PRELUDE = encode_prelude(retry_ms=1000, id=f"{EPOCH}.0")
PING = text_frame("2")

offsets = st.lists(st.integers(1, 10**12), max_size=12)
cuts = st.lists(st.integers(0, 4000), max_size=20)


def fed(parse: Callable[[bytes], Parsed], data: bytes, at: Sequence[int]) -> tuple[list[int], int, bytes]:
    """Offsets, idle traffic and the rest, when `data` comes in pieces that are cut at these places."""
    found: list[int] = []
    idle, rest = 0, b""
    edges = [0, *sorted(min(each, len(data)) for each in at), len(data)]
    for begin, end in pairwise(edges):
        parsed = parse(rest + data[begin:end])
        found += parsed.offsets
        idle += parsed.idle
        rest = parsed.rest
    return found, idle, rest


@given(offsets, cuts)
def test_an_event_stream_cut_anywhere_gives_the_same_notifications(numbers: list[int], at: list[int]) -> None:
    data = chunk(PRELUDE) + b"".join(event(number) + chunk(HEARTBEAT) for number in numbers)

    found, idle, rest = fed(parse_events, data, at)

    assert (found, idle) == (numbers, len(numbers) + 1)
    assert rest in (b"", b"\r\n")


@given(st.integers(0, 400))
def test_the_last_chunk_says_goodbye_however_it_is_cut(at: int) -> None:
    data = event(1) + chunk(PRELUDE) + LAST_CHUNK
    at = min(at, len(data) - 1)

    first = parse_events(data[:at])
    second = parse_events(first.rest + data[at:])

    assert (first.ended, second.ended, second.rest) == (False, True, b"")


def test_a_torn_stream_says_no_goodbye() -> None:
    data = event(1) + chunk(PRELUDE) + LAST_CHUNK

    assert not any(parse_events(data[:end]).ended for end in range(len(data)))


@given(offsets, cuts)
def test_frames_cut_anywhere_give_the_same_notifications(numbers: list[int], at: list[int]) -> None:
    data = b"".join(piece for number in numbers for piece in (frame(number), PING))

    assert fed(parse_frames, data, at) == (numbers, len(numbers), b"")


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=12))
def test_the_short_way_for_equal_frames_gives_what_the_long_way_gives(numbers: list[int]) -> None:
    data = b"".join(frame(number) for number in numbers)

    short = decoding._equal_events(data)

    assert short is None or short == decoding._any_frames(data)
    assert parse_frames(data).offsets == tuple(numbers)


def test_equal_frames_do_take_the_short_way() -> None:
    data = b"".join(frame(number) for number in range(10, 20))

    assert decoding._equal_events(data) == Parsed(tuple(range(10, 20)))


def test_a_text_that_looks_like_an_offset_is_none() -> None:
    body = json.dumps({"body": '"offset":99,', "offset": 5, "data": {}}, separators=(",", ":"))

    assert parse_events(f"data: {body}\n\n".encode()).offsets == (5,)
    assert parse_frames(text_frame(f'42["notification",{body}]')).offsets == (5,)


def test_the_steps_of_the_socketio_handshake_are_told_apart() -> None:
    assert parse_frames(text_frame('0{"sid":"x"}')).opened
    assert parse_frames(text_frame('40{"sid":"x"}')).connected
    assert parse_frames(text_frame("41")).ended
    assert parse_frames(b"\x88\x02\x03\xe8").ended


@pytest.mark.parametrize(
    "data",
    [
        b"\x81\x85\0\0\0\0hello",  # masked, as only clients do
        b"\x82\x01x",  # binary
        b"\x01\x012",  # the beginning of a fragmented message
        b"\xc1\x012",  # a reserved bit: compression
        text_frame("what is this"),
    ],
)
def test_what_our_servers_never_write_is_refused(data: bytes) -> None:
    with pytest.raises(MalformedFrame):
        parse_frames(data)


@pytest.mark.parametrize(
    ("parsed", "run"),
    [
        (Parsed((3, 4, 5)), (3, 5)),
        (Parsed((7,)), (7, 7)),
        (Parsed(()), None),
        (Parsed((3, 5)), None),
        (Parsed((4, 3)), None),
        (Parsed((3, 3)), None),
        (Parsed((3, 4), idle=1), None),
        (Parsed((3, 4), rest=b"x"), None),
        (Parsed((3, 4), ended=True), None),
    ],
)
def test_only_an_unbroken_run_and_nothing_else_is_plain(parsed: Parsed, run: tuple[int, int] | None) -> None:
    assert parsed.plain_run == run
