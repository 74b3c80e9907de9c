"""Engine.IO packets and payloads: the protocol's own examples, and what is none."""

from __future__ import annotations

import pytest
from engineio import packet
from hypothesis import given
from hypothesis import strategies as st

from app.core.errors import MalformedFrame
from app.server.transports.socket_io.engine.packets import (
    SEPARATOR,
    decode,
    decode_payload,
    encode_payload,
    message,
)


@pytest.mark.parametrize(
    ("text", "packet_type", "data"),
    [
        ("4hello", packet.MESSAGE, "hello"),
        ("2probe", packet.PING, "probe"),
        ("3", packet.PONG, ""),
        ("5", packet.UPGRADE, ""),
        ('4{"a": 1}', packet.MESSAGE, '{"a": 1}'),
        ("412", packet.MESSAGE, "12"),
        ("bAQIDBA==", packet.MESSAGE, b"\x01\x02\x03\x04"),
        (b"\x01\x02\x03\x04", packet.MESSAGE, b"\x01\x02\x03\x04"),
        (bytearray(b"4"), packet.MESSAGE, b"4"),
    ],
)
def test_a_packet_is_read_to_the_letter(text: str | bytes, packet_type: int, data: str | bytes) -> None:
    decoded = decode(text)

    assert (decoded.packet_type, decoded.data) == (packet_type, data)
    assert decoded.binary == isinstance(data, bytes)


@pytest.mark.parametrize(
    "text", ["", "7", "abc", "\u0664hello", "\uff14hello", " 4", "b!", "bA", "b\u00e9===", "-1"]
)
def test_what_is_no_packet_is_refused(text: str) -> None:
    with pytest.raises(MalformedFrame):
        decode(text)


def test_a_payload_is_the_protocols_example() -> None:
    packets = decode_payload(b"4hello\x1e2\x1e4world", packets_max=3)

    assert [(each.packet_type, each.data) for each in packets] == [(4, "hello"), (2, ""), (4, "world")]


@pytest.mark.parametrize("body", [b"", b"\x1e", b"4a\x1e", b"\xff", b"4a\x1e\x1e4b", b"4a\x1e4b\x1e4c\x1e4d"])
def test_a_payload_that_is_broken_anywhere_is_refused_whole(body: bytes) -> None:
    with pytest.raises(MalformedFrame):
        decode_payload(body, packets_max=3)


@given(
    st.lists(
        st.one_of(
            st.text(st.characters(exclude_characters=SEPARATOR, exclude_categories=["Cs"])), st.binary()
        ),
        min_size=1,
    )
)
def test_what_is_encoded_is_decoded(contents: list[str | bytes]) -> None:
    body = encode_payload(map(message, contents)).encode()

    assert [each.data for each in decode_payload(body, packets_max=len(contents))] == contents


def test_a_packet_that_went_to_a_polling_client_is_still_binary_for_a_websocket() -> None:
    shared = message(b"\x01")

    assert encode_payload([shared]) == "bAQ=="
    assert shared.encode() == b"\x01"
