"""The Socket.IO protocol, version 5, case by case, on the classes that serve it in Siar, by polling and by WebSocket.

Quotations are from the protocol's document. Where it is silent, the reference server (Node) is followed.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.patience import PATIENCE_S
from tests.support.protocol_server import (
    CLIENTS,
    WAYS,
    Client,
    Ended,
    Endpoint,
    Polling,
    WebSocket,
    protocol_server,
    wait_for_the_end,
)

CONNECT_TIMEOUT_S = 3.0
"""Some must say CONNECT within it, on a busy machine too."""

NAMESPACES = ("", "/custom,")
"""As they are written in a packet: the main one is left out."""


@pytest.fixture(scope="module", params=WAYS, ids="-".join)
def endpoint(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    with protocol_server(tmp_path_factory.mktemp("socketio"), request.param) as server:
        yield Endpoint(server.port, "/socket.io/")


@pytest.fixture(scope="module", params=WAYS, ids="-".join)
def impatient(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """One that does not wait long for CONNECT."""
    options = {"connect_timeout_s": CONNECT_TIMEOUT_S}
    with protocol_server(tmp_path_factory.mktemp("impatient"), request.param, **options) as server:
        yield Endpoint(server.port, "/socket.io/")


@pytest.fixture(params=CLIENTS)
def stranger(request: pytest.FixtureRequest, endpoint: Endpoint) -> Iterator[Client]:
    """An Engine.IO session that has not said CONNECT."""
    opened = CLIENTS[request.param](endpoint)
    yield opened
    opened.close()


@pytest.fixture
def client(stranger: Client) -> Client:
    """One that has, to the main namespace."""
    return joined(stranger)


def joined(client: Client, namespace: str = "") -> Client:
    client.send(f"40{namespace}")
    assert text(client).startswith(f"40{namespace}{{")
    assert text(client) == f'42{namespace}["auth",{{}}]'
    return client


def text(client: Client) -> str:
    packet = client.receive()
    assert isinstance(packet, str)
    return packet


def answers(client: Client, namespace: str = "") -> bool:
    """Whether the connection still works."""
    client.send(f'42{namespace}["message","still here"]')
    return text(client) == f'42{namespace}["message-back","still here"]'


# -- connect -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("auth", ["", '{"token":"123"}'])
@pytest.mark.parametrize("namespace", NAMESPACES)
def test_connect_is_answered_first_and_what_the_handler_emits_follows(
    stranger: Client, namespace: str, auth: str
) -> None:
    stranger.send(f"40{namespace}{auth}")

    answer = text(stranger)
    assert answer.startswith(f"40{namespace}{{")
    assert list(json.loads(answer.removeprefix(f"40{namespace}"))) == ["sid"]
    assert text(stranger) == f'42{namespace}["auth",{auth or "{}"}]'


def test_a_namespace_may_be_written_without_a_comma_at_the_end(stranger: Client) -> None:
    stranger.send("40/custom")

    assert text(stranger).startswith("40/custom,{")


@pytest.mark.parametrize("auth", ["", '{"token":"123"}'])
def test_an_unknown_namespace_is_refused(stranger: Client, auth: str) -> None:
    stranger.send(f"40/random,{auth}")

    assert stranger.receive() == '44/random,{"message":"Invalid namespace"}'
    joined(stranger)


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_a_handler_that_refuses_is_heard_and_what_it_emitted_is_not(stranger: Client, namespace: str) -> None:
    stranger.send(f'40{namespace}{{"refuse":"Not today"}}')

    assert stranger.receive() == f'44{namespace}{{"message":"Not today"}}'
    joined(stranger, namespace)  # Refused once, it may come back.


def test_a_refusal_in_one_namespace_takes_nothing_from_another(client: Client) -> None:
    client.send('42["message",1]', '40/custom,{"refuse":"No"}', '42["message",2]')

    assert [text(client) for _ in range(3)] == [
        '42["message-back",1]',
        '44/custom,{"message":"No"}',
        '42["message-back",2]',
    ]


@pytest.mark.parametrize(
    "packet",
    ["4abc", '42["message",1]', "41", "431[]", '44{"message":"x"}', "47", "4", '451-["message"]', b"\x00"],
)
def test_who_does_not_begin_with_connect_is_closed(stranger: Client, packet: str | bytes) -> None:
    # "If the server does not receive a CONNECT packet first, then it MUST close the connection immediately."
    stranger.send(packet)

    assert wait_for_the_end(stranger) == []


@pytest.mark.parametrize("transport", CLIENTS)
def test_who_never_sends_connect_is_closed(impatient: Endpoint, transport: str) -> None:
    began_s = time.monotonic()

    assert wait_for_the_end(CLIENTS[transport](impatient)) == []
    assert time.monotonic() - began_s > CONNECT_TIMEOUT_S - 0.1


@pytest.mark.parametrize("transport", CLIENTS)
def test_who_was_refused_has_not_connected(impatient: Endpoint, transport: str) -> None:
    client = CLIENTS[transport](impatient)
    client.send('40{"refuse":"No"}')

    assert wait_for_the_end(client) == ['44{"message":"No"}']


@pytest.mark.parametrize("transport", CLIENTS)
def test_who_has_joined_once_may_stay(impatient: Endpoint, transport: str) -> None:
    client = joined(CLIENTS[transport](impatient))
    client.send("41")
    other = CLIENTS[transport](impatient)

    assert wait_for_the_end(other) == []  # It came later, and its time is over too.
    joined(client)
    client.close()


def test_a_namespace_is_joined_once(client: Client) -> None:
    client.send("40")

    assert wait_for_the_end(client) == []


# -- disconnect ----------------------------------------------------------------------------------------------------


def test_leaving_a_namespace_leaves_the_connection(client: Client) -> None:
    client.send("41")

    joined(client)


def test_leaving_a_namespace_leaves_the_others(client: Client) -> None:
    joined(client, "/custom,")

    client.send("41/custom")

    assert answers(client)


def test_an_event_for_a_namespace_that_was_left_ends_the_connection(client: Client) -> None:
    client.send("41", '42["message",1]')

    assert wait_for_the_end(client) == []


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_the_server_may_end_a_namespace(stranger: Client, namespace: str) -> None:
    joined(stranger, namespace)

    stranger.send(f'42{namespace}["leave"]')

    assert stranger.receive() == f"41{namespace}"
    joined(stranger, namespace)


# -- events and acknowledgements -----------------------------------------------------------------------------------


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_an_event_carries_any_json(stranger: Client, namespace: str) -> None:
    joined(stranger, namespace)

    stranger.send(f'42{namespace}["message",1,"2",{{"3":[true]}},null,"é"]')

    assert json.loads(text(stranger).removeprefix(f"42{namespace}")) == [
        "message-back",
        1,
        "2",
        {"3": [True]},
        None,
        "é",
    ]


@pytest.mark.parametrize("namespace", NAMESPACES)
@pytest.mark.parametrize("ack_id", [0, 1, 456, 2**53])
def test_an_acknowledgement_has_the_id_of_its_event(stranger: Client, namespace: str, ack_id: int) -> None:
    joined(stranger, namespace)

    stranger.send(f'42{namespace}{ack_id}["message-with-ack",1,"2",{{"3":[false]}}]')

    assert stranger.receive() == f'43{namespace}{ack_id}[1,"2",{{"3":[false]}}]'


def test_an_acknowledgement_of_nothing_is_an_empty_array(client: Client) -> None:
    client.send('42456["message-with-ack"]')

    assert client.receive() == "43456[]"


def test_attachments_go_both_ways(client: Client) -> None:
    client.send(
        '452-["message",{"_placeholder":true,"num":0},{"_placeholder":true,"num":1}]',
        b"\x01\x02\x03",
        b"\x04",
    )

    assert [client.receive() for _ in range(3)] == [
        '452-["message-back",{"_placeholder":true,"num":0},{"_placeholder":true,"num":1}]',
        b"\x01\x02\x03",
        b"\x04",
    ]


def test_attachments_are_acknowledged_with_attachments(client: Client) -> None:
    client.send('451-789["message-with-ack",{"deep":[{"_placeholder":true,"num":0}]}]', b"\x00\x1e\xff")

    assert [client.receive() for _ in range(2)] == [
        '461-789[{"deep":[{"_placeholder":true,"num":0}]}]',
        b"\x00\x1e\xff",
    ]


def test_attachments_in_another_namespace(stranger: Client) -> None:
    joined(stranger, "/custom,")

    stranger.send('451-/custom,7["message-with-ack",{"_placeholder":true,"num":0}]', b"\x01")

    assert [stranger.receive() for _ in range(2)] == ['461-/custom,7[{"_placeholder":true,"num":0}]', b"\x01"]


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_the_server_is_acknowledged_too(stranger: Client, namespace: str) -> None:
    joined(stranger, namespace)
    stranger.send(f'42{namespace}["ask","how",2]')
    question = text(stranger)
    ack_id = question.removeprefix(f"42{namespace}").removesuffix('["question","how",2]')
    assert ack_id.isdecimal()

    stranger.send(f'43{namespace}{ack_id}["fine",{{"a":1}}]')

    assert stranger.receive() == f'42{namespace}["answered","fine",{{"a":1}}]'


def test_the_server_is_acknowledged_with_attachments(client: Client) -> None:
    client.send('42["ask"]')
    ack_id = text(client).removeprefix("42").removesuffix('["question"]')

    client.send(f'461-{ack_id}[{{"_placeholder":true,"num":0}}]', b"\x01\x02")

    assert [client.receive() for _ in range(2)] == [
        '451-["answered",{"_placeholder":true,"num":0}]',
        b"\x01\x02",
    ]


def test_an_acknowledgement_that_nobody_waits_for_harms_nothing(client: Client) -> None:
    client.send("4399[]")

    assert answers(client)


def test_an_event_that_nobody_handles_harms_nothing(client: Client) -> None:
    client.send('42["unheard",1]', '425["unheard",1]')

    assert answers(client)


def test_events_keep_their_order_across_namespaces(client: Client) -> None:
    joined(client, "/custom,")
    namespaces = [NAMESPACES[number % 2] for number in range(200)]

    client.send(*(f'42{namespace}["message",{number}]' for number, namespace in enumerate(namespaces)))

    assert [client.receive() for _ in range(200)] == [
        f'42{namespace}["message-back",{number}]' for number, namespace in enumerate(namespaces)
    ]


def test_a_broadcast_reaches_everyone_in_its_namespace_in_the_form_of_their_transport(
    endpoint: Endpoint,
) -> None:
    """The library would remember the Base64 form that the polling client gets, and send it to the others as text."""
    near: list[Client] = [joined(make(endpoint)) for make in (Polling, WebSocket, Polling, WebSocket)]
    far = joined(WebSocket(endpoint), "/custom,")

    near[0].send('451-["broadcast",{"_placeholder":true,"num":0}]', b"\x01\x02")

    for client in near:
        assert [client.receive() for _ in range(2)] == [
            '451-["news",{"_placeholder":true,"num":0}]',
            b"\x01\x02",
        ]
    assert answers(far, "/custom,")
    for client in [*near, far]:
        client.close()


def test_nobody_gets_a_broadcast_before_its_connect_is_answered(endpoint: Endpoint) -> None:
    sender, newcomers = joined(WebSocket(endpoint)), [WebSocket(endpoint) for _ in range(10)]

    for newcomer in newcomers:
        sender.send('42["broadcast",1]')
        newcomer.send("40")
        sender.send('42["broadcast",2]')

    for newcomer in newcomers:
        assert text(newcomer).startswith("40{")
        newcomer.close()
    sender.close()


def test_an_upgrade_loses_nothing(endpoint: Endpoint) -> None:
    polling = Polling(endpoint)
    joined(polling)

    with endpoint.websocket(f"EIO=4&transport=websocket&sid={polling.sid}") as websocket:
        polling.send('42["message",1]')
        websocket.send("2probe")
        assert websocket.recv(timeout=PATIENCE_S) == "3probe"
        polling.send('42["message",2]')
        websocket.send("5")
        websocket.send('451-["message",{"_placeholder":true,"num":0}]')
        websocket.send(b"\x03")

        assert [websocket.recv(timeout=PATIENCE_S) for _ in range(4)] == [
            '42["message-back",1]',
            '42["message-back",2]',
            '451-["message-back",{"_placeholder":true,"num":0}]',
            b"\x03",
        ]


# -- invalid format ------------------------------------------------------------------------------------------------

INVALID: list[list[Any]] = [
    ["4abc"],
    ["4"],
    ["47"],
    ["49"],
    ["42"],
    ["42{}"],
    ["42[]"],
    ["42[[]]"],
    ["42null"],
    ['42"message"'],
    ['42["message"'],
    ['42abc["message-with-ack",1]'],
    ['42-1["message-with-ack",1]'],
    ['42["connect"]'],
    ['42["disconnect"]'],
    ['42["connect_error"]'],
    ['42["disconnecting"]'],
    ['42["newListener"]'],
    ['42["removeListener"]'],
    ["43"],
    ["43[]"],
    ["431"],
    ["431{}"],
    ["41{}"],
    ["44"],
    ['44{"message":"x"}'],
    [b"\x01"],
    [b'2["message",1]'],
    ['451-["message",{"_placeholder":true,"num":0}]', '42["message",1]'],
    ['451-["message",{"_placeholder":true,"num":0}]', b"\x01", b"\x02"],
    ['451-["message",{"_placeholder":true,"num":9}]', b"\x01"],
    ['451-["message",{"_placeholder":true,"num":"x"}]', b"\x01"],
    ['4517-["message"]'],
    ['4599999999999-["message"]'],
    ['451-["connect",{"_placeholder":true,"num":0}]', b"\x01"],
    ["42" + "[" * 5_000],
    ["42" + "9" * 200 + '["message"]'],
]


@pytest.mark.parametrize("packets", INVALID, ids=lambda packets: repr(packets)[:50])
def test_what_is_no_packet_ends_its_connection_and_no_other(
    endpoint: Endpoint, client: Client, packets: list[Any]
) -> None:
    other = joined(WebSocket(endpoint))

    with contextlib.suppress(Ended):  # The first may have been enough.
        client.send(*packets)

    assert [packet for packet in wait_for_the_end(client) if "message-back" not in str(packet)] in (
        [],
        [b"\x01"],
    )
    assert answers(other)
    other.close()
