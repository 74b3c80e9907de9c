"""What built-in clients say, and what they make of servers that answer badly."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.client import (
    ClientProtocol,
    ClockProtocol,
    HttpClockProtocol,
    SocketIoProtocol,
    SseProtocol,
    Subscription,
)
from app.core.errors import MalformedFrame
from app.core.protocol.event_stream import encode_comment, encode_event, encode_prelude
from app.core.protocol.websocket import Message, Opcode, accept_of, encode_frame, masked

OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n\r\n"
NOTIFICATION = {"id": "e.5", "offset": 5, "data": {}}


def upgraded(protocol: SocketIoProtocol | ClockProtocol) -> bytes:
    """The server's agreement to the handshake that `protocol` opened."""
    request = protocol.opening().decode()
    key = next(line.split(": ")[1] for line in request.splitlines() if line.startswith("Sec-WebSocket-Key"))
    head = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    return f"{head}Sec-WebSocket-Accept: {accept_of(key)}\r\n\r\n".encode()


def text_frame(text: str) -> bytes:
    return encode_frame(Opcode.TEXT, text.encode(), mask=None)


def said(protocol: ClientProtocol | ClockProtocol) -> list[Message]:
    """What the client put out, unmasked; small frames only."""
    messages, data = [], bytes(protocol.outgoing)
    while data:
        length = data[1] & 0x7F
        messages.append(Message(Opcode(data[0] & 0x0F), masked(data[6 : 6 + length], data[2:6])))
        data = data[6 + length :]
    return messages


def test_sse_asks_like_anyone_else_and_is_ready_with_the_first_block() -> None:
    protocol = SseProtocol(Subscription("http://127.0.0.1:8000", ("a", "b"), "e.3"))

    request = protocol.opening().decode()
    assert request.startswith("GET /events?topic=a&topic=b HTTP/1.1\r\nHost: 127.0.0.1:8000\r\n")
    assert "\r\nUser-Agent: siar-builtin/1 (simulated)\r\n" in request
    assert "\r\nLast-Event-ID: e.3\r\n" in request
    assert protocol.receive_data(OK) == []
    before = protocol.position
    assert protocol.receive_data(encode_prelude(retry_ms=1, id="e.4")) == []
    assert (before, protocol.position) == (None, "e.4")
    event = encode_event(event="notification", data=json.dumps(NOTIFICATION), id="e.5")
    assert protocol.receive_data(encode_comment("hb", id="e.4") + event) == [NOTIFICATION]


@pytest.mark.parametrize("cut", [0, 40, 60])
def test_where_history_stands_does_not_depend_on_how_a_resume_is_read(cut: int) -> None:
    """In one read with what was missed, the stream's last id is behind the replays; in two it is before them."""
    protocol = SseProtocol(Subscription("http://127.0.0.1:1", last_event_id="e.3"))
    head = OK.removesuffix(b"\r\n") + b"Siar-Position: e.5\r\n\r\n"
    body = encode_prelude(retry_ms=1000, id="e.3") + encode_event(
        event="notification", data=json.dumps(NOTIFICATION), id="e.4"
    )

    protocol.opening()
    for part in (head + body[:cut], body[cut:]):
        protocol.receive_data(part)

    assert protocol.position == "e.5"


def test_other_events_are_no_notifications() -> None:
    protocol = SseProtocol(Subscription("http://127.0.0.1:8000"))

    assert protocol.receive_data(OK + encode_event(event="gap", data="{}", id="e.5")) == []


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(b"HTTP/1.1 503 Busy\r\nContent-Type: application/problem+json\r\n\r\n{}", id="an error"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>", id="a page"),
        pytest.param(OK + encode_event(event="notification", data="[1]", id="e.5"), id="no object"),
        pytest.param(OK + encode_event(event="notification", data="{", id="e.5"), id="no JSON"),
    ],
)
def test_sse_refuses_what_is_no_stream_of_notifications(answer: bytes) -> None:
    with pytest.raises(MalformedFrame):
        SseProtocol(Subscription("http://127.0.0.1:8000")).receive_data(answer)


def test_socket_io_connects_answers_pings_and_hears_notifications() -> None:
    protocol = SocketIoProtocol(Subscription("http://127.0.0.1:8000", ("a",), "e.3"))

    assert protocol.receive_data(upgraded(protocol) + text_frame('0{"sid":"x","pingInterval":1}')) == []
    assert said(protocol) == [Message(Opcode.TEXT, b'40{"topics":["a"],"last_event_id":"e.3"}')]
    protocol.outgoing.clear()
    before = protocol.position
    protocol.receive_data(text_frame('40{"sid":"y","position":"e.4"}'))
    assert (before, protocol.position) == (None, "e.4")
    event = text_frame("42" + json.dumps(["notification", NOTIFICATION]))
    assert protocol.receive_data(text_frame("2") + event + text_frame('42["gap",{}]')) == [NOTIFICATION]
    assert said(protocol) == [Message(Opcode.TEXT, b"3")]
    protocol.outgoing.clear()
    protocol.receive_data(encode_frame(Opcode.PING, b"x", mask=None))
    assert said(protocol) == [Message(Opcode.PONG, b"x")]
    assert protocol.receive_data(encode_frame(Opcode.PONG, b"unasked", mask=None)) == []
    protocol.receive_data(encode_frame(Opcode.CLOSE, b"\x03\xe8", mask=None))
    assert protocol.ended


@pytest.mark.parametrize(
    "text",
    [
        '44{"message":"no"}',
        '42["notification"]',
        '42["notification",1]',
        "x",
        "42",
        '451-["notification",{}]',
    ],
)
def test_socket_io_refuses_what_is_no_notification(text: str) -> None:
    protocol = SocketIoProtocol(Subscription("http://127.0.0.1:8000"))

    with pytest.raises(MalformedFrame):
        protocol.receive_data(upgraded(protocol) + text_frame(text))


def test_socket_io_has_no_binary_messages() -> None:
    protocol = SocketIoProtocol(Subscription("http://127.0.0.1:8000"))

    with pytest.raises(MalformedFrame, match="binary message"):
        protocol.receive_data(upgraded(protocol) + encode_frame(Opcode.BINARY, b"4", mask=None))


def test_a_handshake_of_somebody_else_is_refused() -> None:
    protocol, other = SocketIoProtocol(Subscription("http://a")), SocketIoProtocol(Subscription("http://a"))

    with pytest.raises(MalformedFrame, match="does not answer this key"):
        protocol.receive_data(upgraded(other))


def test_the_clock_asks_and_hears_answers() -> None:
    protocol = ClockProtocol("http://127.0.0.1:9")
    answer = {"probe": 7, "received_us": 1, "sent_us": 2, "timebase": "ab"}

    assert protocol.receive_data(upgraded(protocol)) == []
    assert protocol.ready
    assert protocol.receive_data(text_frame(json.dumps(answer))) == [answer]
    with pytest.raises(MalformedFrame, match="closed"):
        protocol.receive_data(encode_frame(Opcode.CLOSE, b"", mask=None))


def test_the_clock_is_ready_with_the_whole_handshake_and_answers_pings() -> None:
    protocol = ClockProtocol("http://127.0.0.1:9")
    agreement = upgraded(protocol)

    assert protocol.receive_data(agreement[:-1]) == []
    before = protocol.ready
    assert protocol.receive_data(agreement[-1:]) == []
    assert protocol.receive_data(encode_frame(Opcode.PING, b"x", mask=None)) == []

    assert (before, protocol.ready) == (False, True)
    assert said(protocol) == [Message(Opcode.PONG, b"x")]


def test_the_clock_over_http_asks_again_on_the_same_connection() -> None:
    protocol = HttpClockProtocol("http://127.0.0.1:9")
    body = b'{"received_us":1,"sent_us":2,"timebase":"ab"}'
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)

    assert protocol.receive_data(answer) == []
    assert protocol.ready
    assert protocol.question(7) == protocol.opening()
    assert protocol.receive_data(answer[:40]) == []
    assert protocol.receive_data(answer[40:]) == [
        {"probe": 7, "received_us": 1, "sent_us": 2, "timebase": "ab"}
    ]
    with pytest.raises(MalformedFrame, match="503"):
        protocol.receive_data(b"HTTP/1.1 503 Busy\r\n\r\n")


@given(st.binary(max_size=300), st.sampled_from(["sse", "socketio", "clock"]))
def test_no_bytes_raise_anything_but_malformed_frame(noise: bytes, kind: str) -> None:
    subscription = Subscription("http://127.0.0.1:8000")
    if kind == "sse":
        with contextlib.suppress(MalformedFrame):
            SseProtocol(subscription).receive_data(OK + noise)
    elif kind == "socketio":
        protocol = SocketIoProtocol(subscription)
        with contextlib.suppress(MalformedFrame):
            protocol.receive_data(upgraded(protocol) + encode_frame(Opcode.TEXT, noise, mask=None))
    else:
        clock = ClockProtocol("http://127.0.0.1:9")
        with contextlib.suppress(MalformedFrame):
            clock.receive_data(upgraded(clock) + encode_frame(Opcode.TEXT, noise, mask=None))
