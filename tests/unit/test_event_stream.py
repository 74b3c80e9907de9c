"""The event stream both ways; the examples of WHATWG HTML 9.2.6 are tests."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.errors import MalformedFrame
from app.core.protocol.event_stream import (
    EventStreamDecoder,
    ServerEvent,
    encode_comment,
    encode_event,
    encode_notice,
    encode_prelude,
    encode_retry,
    jittered_retry_ms,
    spread_retry_ms,
)


def decoded(stream: bytes) -> list[tuple[str, str, str]]:
    return [(event.type, event.data, event.last_event_id) for event in EventStreamDecoder().feed(stream)]


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        pytest.param(
            b"data: YHOO\ndata: +2\ndata: 10\n\n", [("message", "YHOO\n+2\n10", "")], id="standard 1"
        ),
        pytest.param(
            b": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n",
            [
                ("message", "first event", "1"),
                ("message", "second event", ""),
                ("message", " third event", ""),
            ],
            id="standard 2",
        ),
        pytest.param(
            b"data\n\ndata\ndata\n\ndata:", [("message", "", ""), ("message", "\n", "")], id="standard 3"
        ),
        pytest.param(b"data:test\n\ndata: test\n\n", [("message", "test", "")] * 2, id="standard 4"),
        pytest.param(b"\xef\xbb\xbfdata: a\n\n", [("message", "a", "")], id="one leading BOM is dropped"),
        pytest.param(
            b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\n", [], id="a second BOM belongs to the field's name"
        ),
        pytest.param(
            b"data: a\r\rdata: b\r\n\r\n", [("message", "a", ""), ("message", "b", "")], id="CR and CR LF"
        ),
        pytest.param(
            b"event: x\n\ndata: a\n\n", [("message", "a", "")], id="an event without data is dropped"
        ),
        pytest.param(b"id: 7\n\ndata: a\n\n", [("message", "a", "7")], id="an id without data counts"),
        pytest.param(b"id: 7\nid: a\0b\ndata: a\n\n", [("message", "a", "7")], id="an id with NUL does not"),
        pytest.param(b"unknown: x\nDATA: y\ndata: a\n\n", [("message", "a", "")], id="unknown fields"),
        pytest.param(b"data: \xff\n\n", [("message", "\ufffd", "")], id="broken UTF-8 is replaced"),
        pytest.param(
            "data: \u2028\x85\x0b\n\n".encode(), [("message", "\u2028\x85\x0b", "")], id="no other line ends"
        ),
    ],
)
def test_a_stream_is_read_by_the_rules_of_the_standard(
    stream: bytes, expected: list[tuple[str, str, str]]
) -> None:
    assert decoded(stream) == expected


def test_retry_is_taken_only_when_it_is_digits() -> None:
    decoder = EventStreamDecoder()

    decoder.feed(b"retry: 1500\n\nretry: 2s\n\nretry:\n\n")

    assert decoder.retry_ms == 1500


def test_what_the_encoder_writes_the_decoder_reads() -> None:
    decoder = EventStreamDecoder()

    assert decoder.feed(encode_prelude(retry_ms=1000, id="e.4")) == []
    assert (decoder.retry_ms, decoder.last_event_id) == (1000, "e.4")
    event = encode_event(event="notification", data='{"a":1}', id="e.5")
    assert decoder.feed(event) == [ServerEvent("notification", '{"a":1}', "e.5")]
    assert decoder.feed(encode_comment("heartbeat", id="e.9")) == []
    assert (decoder.comment_count, decoder.last_event_id) == (1, "e.9")
    decoder.feed(encode_comment("heartbeat", id=None))
    assert decoder.last_event_id == "e.9"


@given(st.text().filter(lambda text: "\r" not in text))
def test_any_text_survives_the_way_there_and_back(data: str) -> None:
    encodable = data.encode("utf-8", "replace").decode()

    assert decoded(encode_event(event="notification", data=encodable, id="e.1")) == [
        ("notification", encodable, "e.1")
    ]


FRAGMENTS = st.lists(
    st.sampled_from(
        [
            b"data: a",
            b"data",
            b"id: 1",
            b"id",
            b"event: x",
            b"retry: 5",
            b":c",
            b"\n",
            b"\r",
            b"\r\n",
            b"\n\n",
            b"\xef\xbb\xbf",
            b"\xc3\xa9",
            b"\xff",
            b" ",
        ]
    ),
    max_size=30,
).map(b"".join)


@given(FRAGMENTS, st.data())
def test_it_does_not_matter_where_a_stream_is_split(stream: bytes, draw: st.DataObject) -> None:
    cuts = sorted(draw.draw(st.lists(st.integers(0, len(stream)), max_size=6)))
    pieces = [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    whole, split = EventStreamDecoder(), EventStreamDecoder()

    events = [event for piece in pieces for event in split.feed(piece)]

    assert events == whole.feed(stream)
    assert (split.last_event_id, split.retry_ms, split.comment_count) == (
        whole.last_event_id,
        whole.retry_ms,
        whole.comment_count,
    )


@given(st.binary(max_size=400))
def test_no_bytes_raise_anything_but_malformed_frame(stream: bytes) -> None:
    decoder = EventStreamDecoder(event_bytes_max=50)

    try:
        decoder.feed(stream)
    except MalformedFrame:
        with pytest.raises(MalformedFrame):
            decoder.feed(b"")


def test_an_event_without_end_is_refused_and_long_streams_of_short_events_are_not() -> None:
    decoder = EventStreamDecoder(event_bytes_max=100)
    for _ in range(100):
        assert len(decoder.feed(b": comment\ndata: a\n\n")) == 1

    with pytest.raises(MalformedFrame, match="longer than 100 bytes"):
        decoder.feed(b"data: a\n" * 30)


def test_a_farewell_sets_the_wait_and_keeps_the_position_and_is_no_event() -> None:
    decoder = EventStreamDecoder()
    decoder.feed(encode_prelude(retry_ms=1000, id="epoch.7"))

    events = decoder.feed(encode_retry(2345))

    assert events == []
    assert (decoder.retry_ms, decoder.last_event_id) == (2345, "epoch.7")


@given(st.integers(0, 600_000), st.floats(0, 1, exclude_max=True))
def test_clients_are_spread_between_one_and_three_times_the_wait(retry_ms: int, chance: float) -> None:
    assert retry_ms <= spread_retry_ms(retry_ms, chance=chance) <= 3 * retry_ms


@given(st.integers(0, 600_000), st.floats(0, 1, exclude_max=True))
def test_a_broken_stream_waits_a_half_to_one_and_a_half_times_as_socketio_does(
    retry_ms: int, chance: float
) -> None:
    assert retry_ms // 2 <= jittered_retry_ms(retry_ms, chance=chance) <= 1.5 * retry_ms + 1


def test_a_notice_is_an_event_that_moves_nobodys_position() -> None:
    decoder = EventStreamDecoder()
    decoder.feed(encode_prelude(retry_ms=1000, id="epoch.7"))

    events = decoder.feed(encode_notice(event="service", data="one\r\ntwo\nthree"))

    assert events == [ServerEvent("service", "one\ntwo\nthree", "epoch.7")]
    assert decoder.last_event_id == "epoch.7"


def test_a_chance_is_below_one() -> None:
    assert spread_retry_ms(1000, chance=0.5) == 2000
    with pytest.raises(AssertionError):
        spread_retry_ms(1000, chance=1.0)


@pytest.mark.parametrize(
    "pieces",
    [
        (b"data: a\r", b"\ndata: b\r\n\r\n"),
        (b"data: a\r", b"", b"\ndata: b\n\n"),
        (b"data: a\r", b"data: b\r\r"),
    ],
)
def test_a_line_end_that_is_cut_in_two_is_one_and_nothing_behind_a_lone_cr_is_lost(
    pieces: tuple[bytes, ...],
) -> None:
    decoder = EventStreamDecoder()

    assert [event.data for piece in pieces for event in decoder.feed(piece)] == ["a\nb"]
