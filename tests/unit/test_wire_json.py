"""The one encoder of what clients receive: compact, fit for UTF-8, nothing that is no JSON, and no notification twice."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.errors import Malformed
from app.core.notification import EncodedJSON, Notification, WireJSON, encode_json, utf8_bytes
from app.core.position import Position
from app.core.units import ServerUs


def test_a_notification_is_taken_into_an_event_as_it_was_encoded() -> None:
    encoded = EncodedJSON('{"id":"e.1", "spaced": true}')

    assert WireJSON.dumps(["notification", encoded]) == '["notification",{"id":"e.1", "spaced": true}]'


def test_text_that_only_looks_like_json_is_text() -> None:
    assert WireJSON.dumps(["say", '{"a":1}']) == r'["say","{\"a\":1}"]'
    assert WireJSON.dumps([]) == "[]"


def test_what_the_library_would_set_changes_nothing() -> None:
    assert WireJSON.dumps({"a": ["é", 1]}, ensure_ascii=True, separators=(", ", ": ")) == '{"a":["é",1]}'


def test_what_would_end_a_line_somewhere_and_what_utf_8_does_not_have_are_escaped() -> None:
    text = "é \N{WAVING HAND SIGN}\x00\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029\udfff\ud800"

    encoded = encode_json([text, {text: 1}])

    assert json.loads(encoded.encode()) == [text, {text: 1}]
    assert len(encoded.splitlines()) == 1
    assert encoded.startswith('["é \N{WAVING HAND SIGN}')


def test_the_length_of_a_text_is_that_of_its_utf_8() -> None:
    assert [utf8_bytes(text) for text in ("", "a", "é", "ខ", "\N{WAVING HAND SIGN}")] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", '{"a":-Infinity}'])
def test_numbers_that_json_does_not_have_are_not_read(text: str) -> None:
    with pytest.raises(ValueError, match="is not JSON"):
        WireJSON.loads(text)


def test_what_is_json_is_read() -> None:
    assert WireJSON.loads(b'{"a":[1,null]}') == {"a": [1, None]}


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_numbers_that_json_does_not_have_are_not_written_either(number: float) -> None:
    with pytest.raises(Malformed, match="neither NaN nor Infinity"):
        encode_json({"data": [number]})


def test_what_is_nested_without_end_is_refused_in_words() -> None:
    value: object = 1
    for _ in range(100_000):
        value = [value]

    with pytest.raises(Malformed, match="nested too deep"):
        encode_json(value)


TEXTS = st.text(st.characters(codec="utf-8"))


@given(
    TEXTS, TEXTS, st.integers(0, 10**15), st.dictionaries(TEXTS, st.one_of(st.integers(), TEXTS, st.none()))
)
def test_a_notification_is_the_object_that_the_encoder_makes_of_its_members(
    title: str, body: str, stamp_us: int, data: dict[str, object]
) -> None:
    due_us, sent_us = ServerUs(stamp_us), ServerUs(stamp_us + 1)
    notification = Notification(Position("e_1", 7), "news", due_us, sent_us, title, body, data)

    assert notification.json == encode_json(
        {
            "id": "e_1.7",
            "offset": 7,
            "topic": "news",
            "due_us": stamp_us,
            "sent_us": stamp_us + 1,
            "title": title,
            "body": body,
            "data": data,
        }
    )
    assert notification.json_bytes == len(notification.json.encode())
    assert len(notification.json.splitlines()) == 1
    assert (notification.id, notification.offset) == ("e_1.7", 7)


@pytest.mark.parametrize("stamp", ["1", 1.5, None])
def test_a_stamp_that_is_no_integer_never_gets_onto_the_wire(stamp: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        Notification(Position("e", 1), "news", stamp, ServerUs(1), "t", "b")
