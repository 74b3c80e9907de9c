"""A load client passes over bytes that it has decoded before: it must know where something new begins, to the byte."""

from __future__ import annotations

import json

from app.core.client import ClientProtocol, SocketIoProtocol, SseProtocol, Subscription
from app.core.protocol.event_stream import EventStreamDecoder, encode_event, encode_prelude
from app.core.protocol.http_response import ResponseDecoder
from app.core.protocol.websocket import FrameDecoder, Opcode, encode_frame
from tests.unit.test_client_protocols import NOTIFICATION, OK, text_frame, upgraded
from tests.unit.test_http_response import CHUNKED

ID = b"id: e.5\n"
EVENT = ID + b"event: notification\ndata: {}\n\n"


def places(decoder: ResponseDecoder | FrameDecoder | EventStreamDecoder, stream: bytes) -> list[int]:
    """Behind how many bytes of a stream, taken one by one, nothing is half decoded."""
    found = []
    for place in range(1, len(stream) + 1):
        decoder.feed(stream[place - 1 : place])
        if decoder.is_idle:
            found.append(place)
    return found


def heard(protocol: ClientProtocol, stream: bytes) -> list[int]:
    """The same of a client."""
    found = []
    for place in range(1, len(stream) + 1):
        protocol.receive_data(stream[place - 1 : place])
        if protocol.is_idle:
            found.append(place)
    return found


def test_a_response_is_idle_after_its_head_and_after_each_chunk() -> None:
    assert places(ResponseDecoder(), CHUNKED + b"3\r\nabc\r\n2\r\nde\r\n") == [
        len(CHUNKED),
        len(CHUNKED) + 8,
        len(CHUNKED) + 15,
    ]


def test_frames_are_idle_after_each_message_and_not_between_its_fragments() -> None:
    whole = encode_frame(Opcode.TEXT, b"hello", mask=None)
    fragments = b"\x01\x02he\x80\x03llo"

    assert places(FrameDecoder(), whole + fragments) == [len(whole), len(whole) + len(fragments)]


def test_nothing_new_begins_after_a_close_frame() -> None:
    assert places(FrameDecoder(), encode_frame(Opcode.CLOSE, b"", mask=None)) == []


def test_an_event_stream_is_idle_after_each_event_and_never_within_a_line() -> None:
    decoder = EventStreamDecoder()
    new = decoder.is_idle

    found = places(decoder, EVENT + EVENT)

    assert not new, "what comes first may begin with a byte order mark"
    # An id alone changes nothing in how the next line is read.
    assert found == [len(ID), len(EVENT), len(EVENT + ID), 2 * len(EVENT)]


def test_between_a_cr_and_its_lf_nothing_new_begins() -> None:
    decoder = EventStreamDecoder()

    assert [event.data for event in decoder.feed(b"data: x\r\n\r")] == ["x"]
    between = decoder.is_idle
    decoder.feed(b"\n")

    assert (between, decoder.is_idle) == (False, True)


def test_a_client_of_the_stream_rests_once_it_is_in() -> None:
    prelude = encode_prelude(retry_ms=1, id="e.4")
    event = encode_event(event="notification", data=json.dumps(NOTIFICATION), id="e.5")

    found = heard(SseProtocol(Subscription("http://127.0.0.1:8000")), OK + prelude + event)

    came_in = len(OK + prelude)
    assert found[0] == came_in
    assert found[-1] == came_in + len(event)
    assert len(found) == 3, "behind its id too"


def test_a_client_of_socket_io_rests_once_it_is_in() -> None:
    protocol = SocketIoProtocol(Subscription("http://127.0.0.1:8000"))
    before = upgraded(protocol) + text_frame('0{"sid":"x"}')
    connect = text_frame('40{"sid":"y","position":"e.4"}')
    event = text_frame("42" + json.dumps(["notification", NOTIFICATION]))

    found = heard(protocol, before + connect + event)

    assert found == [len(before + connect), len(before + connect + event)]
