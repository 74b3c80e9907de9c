"""What a built-in client of long-polling says, request by request, and what it makes of the answers."""

from __future__ import annotations

import json

import pytest

from app.core.client import PollingSpeech, Subscription
from app.core.errors import MalformedFrame

NOTIFICATION = {"id": "e.5", "offset": 5, "data": {}}

EVENT = "42" + json.dumps(["notification", NOTIFICATION])

HEAD = "Host: 127.0.0.1:8000\r\nUser-Agent: siar-builtin/1 (simulated)\r\n"

POLL = f"GET /socket.io/?EIO=4&transport=polling&sid=x HTTP/1.1\r\n{HEAD}\r\n"


def answer(*packets: str) -> bytes:
    body = "\x1e".join(packets).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


def post(payload: str) -> str:
    length = f"Content-Type: text/plain;charset=UTF-8\r\nContent-Length: {len(payload)}\r\n"
    return f"POST /socket.io/?EIO=4&transport=polling&sid=x HTTP/1.1\r\n{HEAD}{length}\r\n{payload}"


def taken(speech: PollingSpeech) -> str:
    """What it wants to say now; whoever sends it takes it out."""
    said = speech.outgoing.decode()
    speech.outgoing.clear()
    return said


@pytest.fixture
def speech() -> PollingSpeech:
    """One whose session has been opened, and that has said CONNECT."""
    speech = PollingSpeech(Subscription("http://127.0.0.1:8000", ("a",), "e.3"))
    assert speech.hear(answer('0{"sid":"x","pingInterval":1}')) == []
    assert taken(speech) == post('40{"topics":["a"],"last_event_id":"e.3"}')
    assert speech.hear(answer("ok")) == []
    assert taken(speech) == POLL
    return speech


def test_the_first_poll_opens_a_session_below_the_given_address() -> None:
    below = PollingSpeech(Subscription("http://127.0.0.1:8000/siar/", fanout="stock"))

    assert below.opening().decode() == (
        f"GET /siar/socket.io/?EIO=4&transport=polling&fanout=stock HTTP/1.1\r\n{HEAD}\r\n"
    )


def test_it_is_in_with_the_answer_to_connect_and_then_hears_notifications(speech: PollingSpeech) -> None:
    before = speech.position

    assert speech.hear(answer('40{"sid":"y","position":"e.4"}')) == []
    assert taken(speech) == POLL
    heard = speech.hear(answer(EVENT, '42["gap",{}]', EVENT))

    assert (before, speech.position) == (None, "e.4")
    assert heard == [NOTIFICATION, NOTIFICATION]
    assert taken(speech) == POLL


def test_pings_are_answered_together_before_the_next_poll(speech: PollingSpeech) -> None:
    assert speech.hear(answer("2", EVENT, "2probe")) == [NOTIFICATION]
    assert taken(speech) == post("3\x1e3probe")

    speech.hear(answer("ok"))

    assert taken(speech) == POLL, "what was said is not said again"


def test_nothing_is_asked_before_an_answer_is_whole(speech: PollingSpeech) -> None:
    whole = answer(EVENT)

    assert speech.hear(whole[:-1]) == []
    assert taken(speech) == ""
    assert speech.hear(whole[-1:]) == [NOTIFICATION]
    assert taken(speech) == POLL


def test_an_answer_without_packets_is_followed_by_the_next_poll(speech: PollingSpeech) -> None:
    assert speech.hear(answer()) == []
    assert taken(speech) == POLL


@pytest.mark.parametrize("packet", ["1", "41"])
def test_a_session_that_was_closed_asks_for_nothing_more(speech: PollingSpeech, packet: str) -> None:
    before = speech.ended

    assert speech.hear(answer(EVENT, packet)) == [NOTIFICATION], "what came before the end counts"

    assert (before, speech.ended) == (False, True)
    assert taken(speech) == ""


def test_each_answer_is_followed_by_a_request_so_that_nothing_may_be_passed_over(
    speech: PollingSpeech,
) -> None:
    assert not speech.at_rest


@pytest.mark.parametrize(
    ("answered", "sentence"),
    [
        (b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", "answered with 400"),
        (b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n", "answered with 201"),
        (answer('44{"message":"No such topic."}'), "refused the connection: No such topic."),
        (answer("44"), "refused the connection: no reason given"),
        (answer("x"), "does not begin like a packet"),
    ],
)
def test_what_is_no_answer_to_a_poll_is_refused_in_words(
    speech: PollingSpeech, answered: bytes, sentence: str
) -> None:
    with pytest.raises(MalformedFrame, match=sentence):
        speech.hear(answered)
