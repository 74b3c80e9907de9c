"""Compressed WebSocket messages (RFC 7692): read where they were agreed on, refused elsewhere and where they break its rules."""

from __future__ import annotations

import pytest

from app.core.errors import MalformedFrame
from app.core.protocol.deflate import deflated_message
from app.core.protocol.websocket import ClientFrameDecoder, Message, Opcode, encode_frame
from tests.support.conversations import frame

MASK = b"abcd"
HELLO = deflated_message(b"Hello")


def agreed(bytes_max: int = 1_000) -> ClientFrameDecoder:
    decoder = ClientFrameDecoder(message_bytes_max=bytes_max)
    decoder.inflates = True
    return decoder


def compressed(opcode: Opcode, payload: bytes, *, final: bool = True) -> bytes:
    whole = frame(opcode, payload, mask=MASK, final=final)
    return bytes([whole[0] | 0x40]) + whole[1:]


def test_a_frame_has_the_bit_and_a_browser_could_read_it() -> None:
    written = encode_frame(Opcode.TEXT, HELLO, mask=MASK, is_compressed=True)

    assert written[0] == 0xC1
    assert agreed().feed(written) == [Message(Opcode.TEXT, b"Hello")]


def test_compressed_and_plain_messages_follow_each_other() -> None:
    stream = compressed(Opcode.TEXT, HELLO) + frame(Opcode.TEXT, b"plain", mask=MASK)
    stream += compressed(Opcode.BINARY, deflated_message(b"\xff\x00"))

    decoder = agreed()

    found = [message for byte in stream for message in decoder.feed(bytes([byte]))]

    assert [each.payload for each in found] == [b"Hello", b"plain", b"\xff\x00"]


def test_only_the_first_of_several_fragments_says_that_they_are_compressed() -> None:
    decoder = agreed()
    stream = compressed(Opcode.TEXT, HELLO[:2], final=False) + frame(Opcode.PING, b"", mask=MASK)
    stream += frame(Opcode.CONTINUATION, HELLO[2:], mask=MASK)

    assert decoder.feed(stream) == [Message(Opcode.PING, b""), Message(Opcode.TEXT, b"Hello")]


@pytest.mark.parametrize(
    "stream",
    [
        pytest.param(compressed(Opcode.PING, b""), id="a control frame"),
        pytest.param(
            compressed(Opcode.TEXT, HELLO[:2], final=False) + compressed(Opcode.CONTINUATION, HELLO[2:]),
            id="a continuation",
        ),
        pytest.param(compressed(Opcode.TEXT, b"\xff\xff\xff"), id="no DEFLATE"),
        pytest.param(compressed(Opcode.TEXT, deflated_message(b"\xff")), id="text that is no UTF-8"),
        pytest.param(compressed(Opcode.TEXT, deflated_message(b"a" * 1_001)), id="too long unpacked"),
        pytest.param(bytes([0xE1]) + frame(Opcode.TEXT, HELLO, mask=MASK)[1:], id="a second reserved bit"),
    ],
)
def test_what_breaks_the_rules_ends_the_connection(stream: bytes) -> None:
    with pytest.raises(MalformedFrame):
        agreed().feed(stream)


def test_without_agreement_the_bit_is_refused() -> None:
    with pytest.raises(MalformedFrame, match="reserved bits"):
        ClientFrameDecoder(message_bytes_max=1_000).feed(compressed(Opcode.TEXT, HELLO))
