"""WebSocket frames and Socket.IO packets, with the examples of RFC 6455."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.errors import MalformedFrame
from app.core.protocol.http_response import ResponseHead
from app.core.protocol.packets import Packet, PacketKind, encode_packet, parse_packet
from app.core.protocol.websocket import (
    FrameDecoder,
    Message,
    Opcode,
    accept_of,
    check_handshake,
    encode_frame,
    handshake_key,
    handshake_request,
    masked,
)

HELLO = Message(Opcode.TEXT, b"Hello")


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        pytest.param("810548656c6c6f", [HELLO], id="section 5.7, single frame"),
        pytest.param("010348656c80026c6f", [HELLO], id="section 5.7, fragmented"),
        pytest.param("890548656c6c6f", [Message(Opcode.PING, b"Hello")], id="section 5.7, ping"),
        pytest.param(
            "827e0100" + "61" * 256, [Message(Opcode.BINARY, b"a" * 256)], id="section 5.7, 256 bytes"
        ),
        pytest.param(
            "827f0000000000010000" + "61" * 65536,
            [Message(Opcode.BINARY, b"a" * 65536)],
            id="section 5.7, 64 KiB",
        ),
        pytest.param(
            "010348656c" + "8900" + "80026c6f",
            [Message(Opcode.PING, b""), HELLO],
            id="a ping between fragments",
        ),
        pytest.param("8100", [Message(Opcode.TEXT, b"")], id="an empty message"),
        pytest.param(
            "880203e8" + "ffff", [Message(Opcode.CLOSE, b"\x03\xe8")], id="nothing counts behind a close"
        ),
    ],
)
def test_frames_become_messages(stream: str, expected: list[Message]) -> None:
    assert FrameDecoder().feed(bytes.fromhex(stream)) == expected


@pytest.mark.parametrize(
    "stream",
    [
        pytest.param("c100", id="a reserved bit"),
        pytest.param("8300", id="a reserved opcode"),
        pytest.param("818500000000", id="a masked frame from the server"),
        pytest.param("0900", id="a fragmented ping"),
        pytest.param("897e007e", id="a long ping"),
        pytest.param("8000", id="a continuation of nothing"),
        pytest.param("01008100", id="a message within a message"),
        pytest.param("817e007d", id="a length not in its shortest form"),
        pytest.param("817f000000000000ffff", id="a long length not in its shortest form"),
        pytest.param("817fffffffffffffffff", id="a length with the highest bit"),
        pytest.param("8101ff", id="text that is not UTF-8"),
        pytest.param("880103", id="half a close code"),
        pytest.param("880203ed", id="a close code that is never on the wire"),
        pytest.param("880303e8ff", id="a close reason that is not UTF-8"),
    ],
)
def test_what_breaks_rfc_6455_is_refused_for_good(stream: str) -> None:
    decoder = FrameDecoder()

    with pytest.raises(MalformedFrame):
        decoder.feed(bytes.fromhex(stream))
    with pytest.raises(MalformedFrame):
        decoder.feed(b"")


@pytest.mark.parametrize(
    ("length", "head"),
    [
        (125, "827d"),
        (126, "827e007e"),
        (65_535, "827effff"),
        (65_536, "827f0000000000010000"),
    ],
)
def test_a_length_is_written_and_read_in_its_shortest_form(length: int, head: str) -> None:
    payload = b"a" * length

    frame = encode_frame(Opcode.BINARY, payload, mask=None)

    assert frame == bytes.fromhex(head) + payload
    assert FrameDecoder().feed(frame) == [Message(Opcode.BINARY, payload)]


@pytest.mark.parametrize("code", [1000, 1003, 1007, 1014, 3000, 4999])
def test_a_close_may_have_any_code_that_is_for_the_wire(code: int) -> None:
    payload = code.to_bytes(2, "big")

    assert FrameDecoder().feed(b"\x88\x02" + payload) == [Message(Opcode.CLOSE, payload)]


@pytest.mark.parametrize("code", [0, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, 65_535])
def test_a_close_with_any_other_code_is_refused(code: int) -> None:
    with pytest.raises(MalformedFrame, match="no valid status code"):
        FrameDecoder().feed(b"\x88\x02" + code.to_bytes(2, "big"))


def test_a_message_in_many_fragments_is_bounded() -> None:
    decoder = FrameDecoder(message_bytes_max=1000)
    decoder.feed(bytes.fromhex("0164") + b"a" * 100)

    with pytest.raises(MalformedFrame, match="longer than 1000 bytes"):
        decoder.feed((bytes.fromhex("0064") + b"a" * 100) * 10)


def test_a_client_frame_is_masked_as_in_section_5_7() -> None:
    frame = encode_frame(Opcode.TEXT, b"Hello", mask=bytes.fromhex("37fa213d"))

    assert frame.hex() == "818537fa213d7f9f4d5158"


@given(st.binary(max_size=70_000), st.binary(min_size=4, max_size=4))
def test_masking_twice_gives_the_payload_back(payload: bytes, mask: bytes) -> None:
    assert masked(masked(payload, mask), mask) == payload


@given(st.lists(st.text(max_size=300), max_size=8), st.data())
def test_it_does_not_matter_where_frames_are_split(texts: list[str], draw: st.DataObject) -> None:
    payloads = [text.encode("utf-8", "replace") for text in texts]
    stream = b"".join(encode_frame(Opcode.TEXT, payload, mask=None) for payload in payloads)
    cuts = sorted(draw.draw(st.lists(st.integers(0, len(stream)), max_size=6)))
    pieces = [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    decoder = FrameDecoder()

    assert [message.payload for piece in pieces for message in decoder.feed(piece)] == payloads


@given(st.binary(max_size=200))
def test_no_bytes_raise_anything_but_malformed_frame(noise: bytes) -> None:
    whole, split = FrameDecoder(), FrameDecoder()

    def outcome(decoder: FrameDecoder, pieces: list[bytes]) -> str:
        try:
            return str([message for piece in pieces for message in decoder.feed(piece)])
        except MalformedFrame as error:
            return f"refused: {error}"

    assert outcome(whole, [noise]) == outcome(split, [noise[i : i + 1] for i in range(len(noise))])


def test_the_handshake_is_that_of_section_1_3() -> None:
    key = handshake_key(b"the sample nonce")

    assert key == "dGhlIHNhbXBsZSBub25jZQ=="
    assert accept_of(key) == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
    request = handshake_request(host="a:1", target="/x", key=key, headers={"User-Agent": "t"})
    assert request.startswith(b"GET /x HTTP/1.1\r\nHost: a:1\r\nUpgrade: websocket\r\n")
    assert request.endswith(b"User-Agent: t\r\n\r\n")


@pytest.mark.parametrize(
    ("status", "change"),
    [
        pytest.param(101, {}, id="fine"),
        pytest.param(200, {}, id="no upgrade"),
        pytest.param(101, {"upgrade": "h2c"}, id="another protocol"),
        pytest.param(101, {"sec-websocket-accept": "x"}, id="another key"),
        pytest.param(101, {"sec-websocket-extensions": "permessage-deflate"}, id="compression not offered"),
    ],
)
def test_only_an_answer_to_this_very_handshake_is_taken(status: int, change: dict[str, str]) -> None:
    key = handshake_key(b"the sample nonce")
    headers = {"upgrade": "WebSocket", "connection": "keep-alive, Upgrade"}
    head = ResponseHead(status, {**headers, "sec-websocket-accept": accept_of(key), **change})

    if status == 101 and not change:
        check_handshake(head, key)
    else:
        with pytest.raises(MalformedFrame):
            check_handshake(head, key)


@pytest.mark.parametrize(
    ("text", "packet"),
    [
        ('0{"sid":"a","pingInterval":25000}', Packet(PacketKind.OPEN, {"sid": "a", "pingInterval": 25000})),
        ("2", Packet(PacketKind.PING, "")),
        ("3probe", Packet(PacketKind.PONG, "probe")),
        ('40{"sid":"b"}', Packet(PacketKind.CONNECT, {"sid": "b"})),
        ("40", Packet(PacketKind.CONNECT)),
        ("41/x,", Packet(PacketKind.DISCONNECT, None, "/x")),
        ('42["notification",{"id":"e.1"}]', Packet(PacketKind.EVENT, ["notification", {"id": "e.1"}])),
        ('42/x,12["a"]', Packet(PacketKind.EVENT, ["a"], "/x", 12)),
        ("4312[]", Packet(PacketKind.ACK, [], "/", 12)),
        ('44{"message":"no"}', Packet(PacketKind.CONNECT_ERROR, {"message": "no"})),
    ],
)
def test_a_packet_is_read_and_written(text: str, packet: Packet) -> None:
    assert parse_packet(text) == packet
    assert encode_packet(packet) == text


@pytest.mark.parametrize(
    "text", ["", "4", "9", "x", "0", "0[]", "40[]", "42", "42{}", "42[]", "42[1]", "45-1[]", "42[", "41{}"]
)
def test_what_is_no_packet_is_refused(text: str) -> None:
    with pytest.raises(MalformedFrame):
        parse_packet(text)


@given(st.one_of(st.text(max_size=50), st.text('0123456{}[]",/:na', max_size=50)))
def test_no_text_raises_anything_but_malformed_frame(text: str) -> None:
    with contextlib.suppress(MalformedFrame):
        parse_packet(text)


def test_json_nested_without_end_is_refused() -> None:
    with pytest.raises(MalformedFrame):
        parse_packet("42" + "[" * 200_000)
