"""The server's side of WebSocket: what clients send, split at any byte, against the rules and a second parser."""

from __future__ import annotations

import struct
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from websockets.frames import Frame
from websockets.protocol import State
from websockets.server import ServerProtocol

from app.core.errors import MalformedFrame
from app.core.protocol.websocket import (
    CONTROL_BYTES_MAX,
    ClientFrameDecoder,
    FrameDecoder,
    Message,
    Opcode,
    encode_close,
    encode_frame,
    masked,
)
from tests.support.conversations import BOUND, Conversation, conversations, frame, noise, split

CONTROL_FRAME_BYTES_MAX = 2 + 4 + 125

patient = settings(deadline=None, max_examples=60)
"""A slow machine is no failure of a parser."""


def decoder(*, from_client: bool) -> FrameDecoder:
    return (ClientFrameDecoder if from_client else FrameDecoder)(message_bytes_max=BOUND)


@pytest.mark.parametrize("from_client", [True, False])
@patient
@given(draw=st.data())
def test_messages_come_out_whole_however_they_are_fragmented_masked_and_split(
    from_client: bool, draw: st.DataObject
) -> None:
    conversation = draw.draw(conversations(from_client=from_client))
    decoding = decoder(from_client=from_client)

    found = [message for piece in split(conversation.stream, draw) for message in decoding.feed(piece)]

    assert found == conversation.messages
    assert decoding.held_bytes == 0


@pytest.mark.parametrize("from_client", [True, False])
@patient
@given(draw=st.data())
def test_a_decoder_never_holds_more_than_its_bound(from_client: bool, draw: st.DataObject) -> None:
    stream = draw.draw(st.one_of(conversations(from_client=from_client).map(lambda each: each.stream), noise))
    decoding = decoder(from_client=from_client)

    for piece in split(stream, draw):
        try:
            decoding.feed(piece)
        except MalformedFrame:
            assert decoding.held_bytes == 0
            return
        assert decoding.held_bytes <= BOUND + CONTROL_FRAME_BYTES_MAX


@patient
@given(noise, st.data())
def test_no_bytes_of_a_client_raise_anything_but_malformed_frame(data: bytes, draw: st.DataObject) -> None:
    def outcome(pieces: list[bytes]) -> str:
        decoding = ClientFrameDecoder(message_bytes_max=BOUND)
        try:
            return str([message for piece in pieces for message in decoding.feed(piece)])
        except MalformedFrame as error:
            return f"{error.close_code} {error}"

    assert outcome([data]) == outcome(split(data, draw))


M = "37fa213d"
"""The key of section 5.7; a masked empty payload is the key alone."""


def client_frame(first: int, payload: bytes) -> str:
    return (bytes([first, 0x80 | len(payload)]) + bytes.fromhex(M) + masked(payload, bytes.fromhex(M))).hex()


REFUSED = [
    pytest.param("8100", 1002, id="not masked"),
    pytest.param("8900", 1002, id="a ping that is not masked"),
    *(
        pytest.param(f"{0x81 | bit:02x}80{M}", 1002, id=f"reserved bit {bit:02x}")
        for bit in (0x40, 0x20, 0x10)
    ),
    *(
        pytest.param(f"{0x80 | opcode:02x}80{M}", 1002, id=f"reserved opcode {opcode}")
        for opcode in (3, 4, 5, 6, 7, 11, 12, 13, 14, 15)
    ),
    pytest.param(f"0980{M}", 1002, id="a fragmented ping"),
    pytest.param(f"0880{M}", 1002, id="a fragmented close"),
    pytest.param("89fe007e", 1002, id="a ping of 126 bytes"),
    pytest.param(f"8080{M}", 1002, id="a continuation of nothing"),
    pytest.param(f"0180{M}8180{M}", 1002, id="a message within a message"),
    pytest.param("81fe007d", 1002, id="two bytes of length where one is enough"),
    pytest.param("81ff000000000000ffff", 1002, id="eight bytes of length where two are enough"),
    pytest.param("81ff8000000000000000", 1002, id="a negative length"),
    pytest.param("81ff7fffffffffffffff", 1009, id="the longest length"),
    pytest.param("82fe1389", 1009, id="one byte more than allowed, before any of them came"),
    pytest.param(client_frame(0x81, b"\xff"), 1007, id="text that is not UTF-8"),
    pytest.param(client_frame(0x81, b"\xed\xa0\x80"), 1007, id="a surrogate"),
    pytest.param(
        client_frame(0x01, b"\xe2\x82") + client_frame(0x80, b"("), 1007, id="broken over fragments"
    ),
    pytest.param(
        client_frame(0x01, b"\xe2\x82") + client_frame(0x80, b""), 1007, id="cut short in fragments"
    ),
    pytest.param(client_frame(0x88, b"\x03"), 1002, id="half a close code"),
    *(
        pytest.param(client_frame(0x88, struct.pack("!H", code)), 1002, id=f"close code {code}")
        for code in (0, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000)
    ),
    pytest.param(client_frame(0x88, b"\x03\xe8\xff"), 1007, id="a close reason that is not UTF-8"),
]


def close_code_of(decoding: FrameDecoder, pieces: list[bytes]) -> int | None:
    """With what it refuses `pieces`, and whatever comes behind them; `None` if it does not."""
    codes = []
    for piece in [*pieces, b""]:
        try:
            decoding.feed(piece)
        except MalformedFrame as error:
            codes.append(error.close_code)
    assert len(set(codes)) <= 1, "the first refusal stands"
    return codes[0] if codes else None


@pytest.mark.parametrize(("broken", "close_code"), REFUSED)
def test_a_client_that_breaks_the_rules_is_refused_wherever_the_split_falls(
    broken: str, close_code: int
) -> None:
    stream = bytes.fromhex(client_frame(0x81, b"Hello") + client_frame(0x89, b"") + broken + "8180")
    splits = [[stream[:at], stream[at:]] for at in range(len(stream))]
    splits.append([stream[at : at + 1] for at in range(len(stream))])

    found = {close_code_of(ClientFrameDecoder(message_bytes_max=BOUND), pieces) for pieces in splits}

    assert found == {close_code}


@patient
@given(conversations(from_client=True), st.sampled_from([each.values for each in REFUSED]), st.data())
def test_what_was_right_before_it_does_not_save_it(
    before: Conversation, refused: tuple[str, int], draw: st.DataObject
) -> None:
    broken, close_code = refused
    pieces = split(before.stream + bytes.fromhex(broken) + draw.draw(noise), draw)

    assert close_code_of(ClientFrameDecoder(message_bytes_max=BOUND), pieces) == close_code


@patient
@given(st.lists(st.integers(0, 2_000), min_size=1, max_size=12), st.data())
def test_a_message_in_fragments_is_refused_as_soon_as_their_lengths_exceed_the_bound(
    sizes: list[int], draw: st.DataObject
) -> None:
    heads = [Opcode.BINARY, *[Opcode.CONTINUATION] * (len(sizes) - 1)]
    stream = b"".join(
        frame(opcode, b"x" * size, mask=bytes.fromhex(M), final=False)
        for opcode, size in zip(heads, sizes, strict=True)
    )

    refused = close_code_of(ClientFrameDecoder(message_bytes_max=BOUND), split(stream, draw))

    assert refused == (1009 if sum(sizes) > BOUND else None)


def test_frames_that_give_no_message_are_counted_wherever_the_split_falls() -> None:
    """Empty ones hold nothing, and would come for ever unseen."""
    key = bytes.fromhex(M)
    stream = (
        frame(Opcode.TEXT, b"a", mask=key, final=False)
        + frame(Opcode.PING, b"", mask=key)
        + frame(Opcode.CONTINUATION, b"", mask=key, final=False) * 2
        + frame(Opcode.CONTINUATION, b"b", mask=key)
        + frame(Opcode.TEXT, b"whole", mask=key)
    )

    for at in range(len(stream)):
        decoding = ClientFrameDecoder()
        counts = []
        for piece in (stream[:at], stream[at:]):
            decoding.feed(piece)
            counts.append(decoding.fragment_count)
        assert sum(counts) == 3


def test_a_control_frame_does_not_count_against_the_message_around_it() -> None:
    key = bytes.fromhex(M)
    decoding = ClientFrameDecoder(message_bytes_max=100)

    decoding.feed(frame(Opcode.TEXT, b"a" * 100, mask=key, final=False))

    assert decoding.feed(frame(Opcode.PING, b"p" * 125, mask=key)) == [Message(Opcode.PING, b"p" * 125)]
    assert decoding.feed(frame(Opcode.CONTINUATION, b"", mask=key)) == [Message(Opcode.TEXT, b"a" * 100)]


@patient
@given(conversations(from_client=True), st.data())
def test_another_parser_reads_the_same(conversation: Conversation, draw: st.DataObject) -> None:
    pieces = split(conversation.stream, draw)
    ours = ClientFrameDecoder(message_bytes_max=BOUND)

    found = [message for piece in pieces for message in ours.feed(piece)]

    assert found == messages_by_websockets(pieces)


def messages_by_websockets(pieces: list[bytes]) -> list[Message]:
    """What the `websockets` library's parser makes of it, its fragments put together."""
    # That library counts a control frame against the message around it; it is given room for the longest.
    protocol = ServerProtocol(state=State.OPEN, max_size=BOUND + CONTROL_BYTES_MAX)
    for piece in pieces:
        if piece:
            protocol.receive_data(piece)
    assert protocol.parser_exc is None
    messages: list[Message] = []
    fragments: list[Frame] = []
    for each in protocol.events_received():
        assert isinstance(each, Frame)
        if each.opcode >= 8:
            messages.append(Message(Opcode(each.opcode), bytes(each.data)))
            continue
        fragments.append(each)
        if each.fin:
            payload = b"".join(bytes(fragment.data) for fragment in fragments)
            messages.append(Message(Opcode(fragments[0].opcode), payload))
            fragments = []
    return messages


@patient
@given(st.sampled_from([1000, 1001, 1002, 1007, 1009, 1011, 3000, 4999]), st.text(max_size=30), st.data())
def test_data_after_a_close_frame_are_ignored_and_not_stored(
    code: int, reason: str, draw: st.DataObject
) -> None:
    decoding = ClientFrameDecoder()
    stream = encode_close(code, reason, mask=bytes.fromhex(M))

    found = [message for piece in split(stream, draw) for message in decoding.feed(piece)]

    assert found == [Message(Opcode.CLOSE, code.to_bytes(2, "big") + reason.encode())]
    assert decoding.closed
    assert decoding.feed(b"\xff" * 1000) == []
    assert decoding.held_bytes == 0


def test_a_server_does_not_mask_its_close_frame() -> None:
    assert encode_close(1009, "big").hex() == "880503f1" + b"big".hex()


def test_an_idle_decoder_is_a_few_numbers() -> None:
    """Thousands of idle connections have one each."""
    decoding = ClientFrameDecoder()
    decoding.feed(encode_frame(Opcode.TEXT, b"x" * 100_000, mask=bytes.fromhex(M)))
    decoding.feed(encode_frame(Opcode.TEXT, b"3", mask=bytes.fromhex(M)))

    assert not hasattr(decoding, "__dict__")
    kept = sum(
        sys.getsizeof(getattr(decoding, name)) for name in ("_held", "_parts") if getattr(decoding, name)
    )
    assert sys.getsizeof(decoding) + kept < 128
