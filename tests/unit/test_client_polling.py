"""What a built-in client of long-polling says, request by request, and what it makes of the answers."""

from __future__ import annotations

import json

import pytest

from app.core.client import PollingProtocol, Subscription
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


def taken(protocol: PollingProtocol) -> str:
    """What it wants to say now; whoever sends it takes it out."""
    said = protocol.outgoing.decode()
    protocol.outgoing.clear()
    return said


@pytest.fixture
def protocol() -> PollingProtocol:
    """One whose session has been opened, and that has said CONNECT."""
    protocol = PollingProtocol(Subscription("http://127.0.0.1:8000", ("a",), "e.3"))
    assert protocol.receive_data(answer('0{"sid":"x","pingInterval":1}')) == []
    assert taken(protocol) == post('40{"topics":["a"],"last_event_id":"e.3"}')
    assert protocol.receive_data(answer("ok")) == []
    assert taken(protocol) == POLL
    return protocol


def test_the_first_poll_opens_a_session_below_the_given_address() -> None:
    below = PollingProtocol(Subscription("http://127.0.0.1:8000/siar/", fanout="stock"))

    assert below.opening().decode() == (
        f"GET /siar/socket.io/?EIO=4&transport=polling&fanout=stock HTTP/1.1\r\n{HEAD}\r\n"
    )


def test_it_is_in_with_the_answer_to_connect_and_then_hears_notifications(protocol: PollingProtocol) -> None:
    before = protocol.position

    assert protocol.receive_data(answer('40{"sid":"y","position":"e.4"}')) == []
    assert taken(protocol) == POLL
    heard = protocol.receive_data(answer(EVENT, '42["gap",{}]', EVENT))

    assert (before, protocol.position) == (None, "e.4")
    assert heard == [NOTIFICATION, NOTIFICATION]
    assert taken(protocol) == POLL


def test_pings_are_answered_together_before_the_next_poll(protocol: PollingProtocol) -> None:
    assert protocol.receive_data(answer("2", EVENT, "2probe")) == [NOTIFICATION]
    assert taken(protocol) == post("3\x1e3probe")

    protocol.receive_data(answer("ok"))

    assert taken(protocol) == POLL, "what was said is not said again"


def test_nothing_is_asked_before_an_answer_is_whole(protocol: PollingProtocol) -> None:
    whole = answer(EVENT)

    assert protocol.receive_data(whole[:-1]) == []
    assert taken(protocol) == ""
    assert protocol.receive_data(whole[-1:]) == [NOTIFICATION]
    assert taken(protocol) == POLL


def test_an_answer_without_packets_is_followed_by_the_next_poll(protocol: PollingProtocol) -> None:
    assert protocol.receive_data(answer()) == []
    assert taken(protocol) == POLL


@pytest.mark.parametrize("packet", ["1", "41"])
def test_a_session_that_was_closed_asks_for_nothing_more(protocol: PollingProtocol, packet: str) -> None:
    before = protocol.ended

    assert protocol.receive_data(answer(EVENT, packet)) == [NOTIFICATION], "what came before the end counts"

    assert (before, protocol.ended) == (False, True)
    assert taken(protocol) == ""


def test_each_answer_is_followed_by_a_request_so_that_nothing_may_be_passed_over(
    protocol: PollingProtocol,
) -> None:
    assert not protocol.is_idle


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
    protocol: PollingProtocol, answered: bytes, sentence: str
) -> None:
    with pytest.raises(MalformedFrame, match=sentence):
        protocol.receive_data(answered)
