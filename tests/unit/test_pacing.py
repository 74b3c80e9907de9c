"""The schedule and the length of a trial's notifications."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.errors import Malformed
from app.core.notification import encode_json
from app.core.pacing import due_us, padded_body


@given(st.integers(0, 2**52), st.floats(0.01, 1000), st.integers(0, 100_000))
def test_no_rounding_adds_up_over_a_trial(start_us: int, rate_hz: float, i: int) -> None:
    assert abs(due_us(start_us, rate_hz, i) - start_us - i * 1e6 / rate_hz) <= 1


def test_a_third_of_a_second_stays_a_third() -> None:
    assert [due_us(0, 3, i) for i in range(4)] == [0, 333_333, 666_667, 1_000_000]


@given(st.integers(256, 16_384), st.text(max_size=20))
def test_a_padded_notification_has_exactly_the_plan_s_length(payload_bytes: int, title: str) -> None:
    wire = {"id": "e.1", "offset": 1, "title": title, "body": "anything", "data": {"trial": {"seq": 1}}}

    body = padded_body(wire, payload_bytes=payload_bytes)

    assert len(encode_json({**wire, "body": body}).encode()) == payload_bytes


def test_a_payload_that_cannot_hold_the_rest_is_refused() -> None:
    with pytest.raises(Malformed, match="without a body it has 263 bytes"):
        padded_body({"title": "x" * 241, "body": ""}, payload_bytes=256)


def test_a_payload_that_holds_just_the_rest_has_an_empty_body() -> None:
    wire = {"title": "t", "body": ""}

    assert padded_body(wire, payload_bytes=len(encode_json(wire))) == ""
    assert padded_body(wire, payload_bytes=len(encode_json(wire)) + 1) == "S"
