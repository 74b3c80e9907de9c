"""The Engine.IO protocol, version 4, case by case, on the classes that serve Socket.IO in Siar.

Quotations are from the protocol's document. Where it is silent, the reference server (Node) is followed.
Heartbeats and upgrades are in files of their own beside this one.
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import struct
import time
from collections.abc import Iterator
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.support.patience import PATIENCE_S
from tests.support.protocol_server import (
    CLIENTS,
    SEPARATOR,
    WAYS,
    Client,
    Ended,
    Endpoint,
    Polling,
    WebSocket,
    closes_cleanly,
    protocol_server,
    wait_for_the_end,
)

MAX_PAYLOAD = 100_000


@pytest.fixture(scope="module", params=WAYS, ids="-".join)
def endpoint(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    with protocol_server(
        tmp_path_factory.mktemp("engineio"), request.param, max_payload=MAX_PAYLOAD
    ) as server:
        yield Endpoint(server.port)


@pytest.fixture(scope="module", params=WAYS, ids="-".join)
def patient(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """One that waits a second for a poll that was overtaken: on a busy machine 20 ms may lie between two sends."""
    with protocol_server(tmp_path_factory.mktemp("patient"), request.param, overtaking_s=1.0) as server:
        yield Endpoint(server.port)


@pytest.fixture(params=CLIENTS)
def client(request: pytest.FixtureRequest, endpoint: Endpoint) -> Iterator[Client]:
    opened = CLIENTS[request.param](endpoint)
    yield opened
    opened.close()


@pytest.fixture
def polling(endpoint: Endpoint) -> Iterator[Polling]:
    opened = Polling(endpoint)
    yield opened
    opened.close()


@pytest.fixture
def websocket(endpoint: Endpoint) -> Iterator[WebSocket]:
    opened = WebSocket(endpoint)
    yield opened
    opened.close()


# -- handshake -----------------------------------------------------------------------------------------------------


def test_the_open_packet_tells_what_the_client_needs(client: Client) -> None:
    assert client.opened == {
        "sid": client.sid,
        "upgrades": ["websocket"] if isinstance(client, Polling) else [],
        "pingInterval": 25_000,
        "pingTimeout": 20_000,
        "maxPayload": MAX_PAYLOAD,
    }


def test_every_session_has_an_id_of_its_own(endpoint: Endpoint) -> None:
    assert len({Polling(endpoint).sid for _ in range(20)}) == 20


BAD_QUERIES = [
    "",
    "transport={0}",
    "EIO=abc&transport={0}",
    "EIO=3&transport={0}",
    "EIO=4",
    "EIO=4&transport=abc",
]


@pytest.mark.parametrize(
    "query", [*BAD_QUERIES, "EIO=4&transport=websocket", "EIO=4&transport={0}&sid=unknown"]
)
def test_a_request_that_lacks_something_mandatory_is_a_400(endpoint: Endpoint, query: str) -> None:
    # "If a mandatory query parameter is missing, then the server MUST respond with an HTTP 400 error status."
    assert endpoint.request(query.format("polling"))[0] == 400


@pytest.mark.parametrize(
    "query", [*BAD_QUERIES, "EIO=4&transport=polling", "EIO=4&transport={0}&sid=unknown"]
)
def test_so_is_a_websocket_that_lacks_it(endpoint: Endpoint, query: str) -> None:
    with pytest.raises(InvalidStatus, match="400"):
        endpoint.websocket(query.format("websocket"))


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "HEAD"])
def test_a_session_begins_with_a_get(endpoint: Endpoint, method: str) -> None:
    assert endpoint.request("EIO=4&transport=polling", method=method)[0] == 400


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "HEAD"])
def test_a_session_knows_get_and_post_only(polling: Polling, method: str) -> None:
    assert polling.endpoint.request(polling.query, method=method)[0] == 400
    assert polling.post("4still here") == (200, "ok")


@pytest.mark.parametrize(
    "query", ["transport=polling&sid={0}", "EIO=4&sid={0}", "EIO=4&transport=websocket&sid={0}"]
)
def test_later_requests_lack_nothing_either(polling: Polling, query: str) -> None:
    assert polling.endpoint.request(query.format(polling.sid))[0] == 400
    assert polling.post("4still here") == (200, "ok")


def test_a_page_of_another_origin_may_read_where_the_server_allows_it(endpoint: Endpoint) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", endpoint.port, timeout=PATIENCE_S)
    headers = {"Origin": "http://elsewhere.example"}
    for method in ("OPTIONS", "GET"):
        connection.request(method, "/engine.io/?EIO=4&transport=polling", headers=headers)
        response = connection.getresponse()
        response.read()

        assert response.status == 200
        assert response.headers["Access-Control-Allow-Origin"] == "http://elsewhere.example"
    connection.close()


# -- messages ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "packet",
    [
        "4hello",
        "4",
        "4€ und 😀",
        '4{"a": 1}',
        "4[1, 2]",
        "4 12",
        "412",
        "4true",
        "4" + "x" * (MAX_PAYLOAD - 1),
        b"\x01\x02\x03\x04",
        b"",
        bytes(range(256)) * 200,
    ],
    ids=lambda packet: f"{packet[:10]!r}-{len(packet)}",
)
def test_a_message_comes_back_as_it_was(client: Client, packet: str | bytes) -> None:
    client.send(packet)

    assert client.receive() == packet


def test_messages_keep_their_order_whatever_they_hold(client: Client) -> None:
    packets: list[str | bytes] = ["4test1", b"\x00\x1e\xff", "4test2", b"\x01" * 1000, "4test3"]

    client.send(*packets)

    assert [client.receive() for _ in packets] == packets


def test_a_post_may_hold_as_many_packets_as_its_bytes_allow(polling: Polling) -> None:
    """The library stops at 16; the official client sends all that it has."""
    packets = [f"4number {number}" for number in range(1000)]

    polling.send(*packets)

    assert [polling.receive() for _ in packets] == packets


def test_a_poll_is_answered_with_all_that_waits(polling: Polling) -> None:
    """The official suite's own examples."""
    assert polling.post("4hello") == (200, "ok")
    assert polling.get() == (200, "4hello")
    assert polling.post("4test1\x1e4test2\x1e4test3") == (200, "ok")
    assert polling.get() == (200, "4test1\x1e4test2\x1e4test3")
    assert polling.post("4hello\x1ebAQIDBA==") == (200, "ok")
    assert polling.get() == (200, "4hello\x1ebAQIDBA==")


def test_a_poll_waits_for_a_message(polling: Polling) -> None:
    poll = polling.pending_get()

    polling.send("4at last")

    assert poll.result(PATIENCE_S) == (200, "4at last")


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("kind", [str, bytes])
def test_a_message_may_come_in_fragments(websocket: WebSocket, kind: type, size: int) -> None:
    text = "4" + "wörds " * 30
    message: Any = text if kind is str else text.encode()

    websocket.connection.send(message[start : start + size] for start in range(0, len(message), size))

    assert websocket.receive() == message


def test_a_websocket_ping_between_fragments_is_answered(websocket: WebSocket) -> None:
    def fragments() -> Iterator[str]:
        yield "4one "
        assert websocket.connection.ping().wait(PATIENCE_S)
        yield "two"

    websocket.connection.send(fragments())

    assert websocket.receive() == "4one two"


@pytest.mark.parametrize("packet", ["0{}", "5", "6", "3"])
def test_a_packet_that_means_nothing_here_harms_nothing(client: Client, packet: str) -> None:
    client.send(packet, "4still here")

    assert client.receive() == "4still here"


UNDECODABLE = ["abc", "7", "9x", "\u0664hello", " 4", "\x00", "2", "2probe", "b!!!", "bAQID\n", ""]


@pytest.mark.parametrize("packet", UNDECODABLE)
def test_an_undecodable_payload_is_a_400_and_ends_the_session(polling: Polling, packet: str) -> None:
    assert polling.post(packet)[0] == 400

    assert polling.get()[0] == 400
    assert polling.endpoint.state(polling.sid) == {"ended": "transport error"}


@pytest.mark.parametrize("body", [b"\xff\xfe", b"4ok\x1e\xc3", b"4ok\x1eabc", b"\x1e", b"4ok\x1e"])
def test_so_does_one_that_is_broken_further_on(polling: Polling, body: bytes) -> None:
    assert polling.post(body)[0] == 400
    assert polling.get()[0] == 400


@pytest.mark.parametrize("packet", UNDECODABLE)
def test_an_undecodable_packet_ends_its_websocket_and_no_other(
    endpoint: Endpoint, websocket: WebSocket, packet: str
) -> None:
    other = WebSocket(endpoint)

    websocket.send(packet)

    assert closes_cleanly(websocket.connection)
    other.send("4still here")
    assert other.receive() == "4still here"
    other.close()


# -- limits --------------------------------------------------------------------------------------------------------


def test_a_body_that_is_too_long_is_refused(polling: Polling) -> None:
    assert polling.post("4" + "x" * MAX_PAYLOAD)[0] == 413


def test_a_packet_that_is_too_long_ends_its_websocket(websocket: WebSocket) -> None:
    with contextlib.suppress(Ended):
        websocket.send("4" + "x" * MAX_PAYLOAD)

    assert wait_for_the_end(websocket) == []


def test_fragments_without_end_are_cut_off(websocket: WebSocket) -> None:
    def fragments() -> Iterator[str]:
        yield "4"
        for _ in range(100 * MAX_PAYLOAD // 10_000):
            yield "x" * 10_000

    with contextlib.suppress(ConnectionClosed):
        websocket.connection.send(fragments())

    assert wait_for_the_end(websocket) == []


def test_a_client_that_floods_is_closed(client: Client) -> None:
    flood = ["6"] * 1_500

    with contextlib.suppress(Ended):
        for _ in range(10):
            client.send(*flood)

    assert wait_for_the_end(client) == []


def test_a_post_of_too_many_packets_is_a_400(polling: Polling) -> None:
    assert polling.post(SEPARATOR.join(["6"] * 5_000))[0] == 400
    assert polling.get()[0] == 400


# -- one request at a time -----------------------------------------------------------------------------------------


def test_a_second_poll_ends_the_session(polling: Polling) -> None:
    # "a client MUST NOT have more than one active GET request. Should it happen, the server MUST return an HTTP 400
    # error status and close the session." The first one is told so.
    first = polling.pending_get()

    assert polling.get()[0] == 400
    assert first.result(PATIENCE_S) == (200, "1")
    assert polling.get()[0] == 400


def test_a_second_post_ends_the_session(polling: Polling) -> None:
    # "a client MUST NOT have more than one active POST request. Should it happen, the server MUST return an HTTP 400
    # error status and close the session."
    with socket.create_connection(("127.0.0.1", polling.endpoint.port), timeout=PATIENCE_S) as slow:
        slow.sendall(
            f"POST /engine.io/?{polling.query} HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\n4he".encode()
        )
        polling.wait_until(lambda state: state.get("is_posting"))

        assert polling.post("4hello")[0] == 400
        assert polling.get()[0] == 400
        slow.sendall(b"llo")
        slow.recv(1000)


def test_an_aborted_poll_ends_the_session_at_once(polling: Polling) -> None:
    """What was sent to it would be lost: nobody knows which answer the client saw."""
    with socket.create_connection(("127.0.0.1", polling.endpoint.port), timeout=PATIENCE_S) as poll:
        poll.sendall(f"GET /engine.io/?{polling.query} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        polling.wait_until(lambda state: state.get("is_polled"))
        before_s = time.monotonic()

    assert polling.wait_until(lambda state: "ended" in state) == {"ended": "transport error"}
    assert time.monotonic() - before_s < 10  # By the heartbeat it would be 45.
    assert polling.get()[0] == 400


def test_a_reset_poll_ends_it_too(polling: Polling) -> None:
    poll = socket.create_connection(("127.0.0.1", polling.endpoint.port), timeout=PATIENCE_S)
    poll.sendall(f"GET /engine.io/?{polling.query} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    polling.wait_until(lambda state: state.get("is_polled"))

    poll.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    poll.close()

    assert polling.wait_until(lambda state: "ended" in state) == {"ended": "transport error"}


def test_a_request_sent_ahead_on_the_polls_connection_is_no_abort(polling: Polling) -> None:
    request = f"GET /engine.io/?{polling.query} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
    with socket.create_connection(("127.0.0.1", polling.endpoint.port), timeout=PATIENCE_S) as poll:
        poll.sendall(request)
        polling.wait_until(lambda state: state.get("is_polled"))
        poll.sendall(b"GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")

        polling.send("4hello")

        received = b""
        while b"4hello" not in received:
            chunk = poll.recv(4096)
            assert chunk, received
            received += chunk


# -- close ---------------------------------------------------------------------------------------------------------


def test_a_client_may_close_its_session(client: Client) -> None:
    client.send("1")

    assert wait_for_the_end(client) == []
    assert client.endpoint.state(client.sid) == {"ended": "client disconnect"}


def test_a_close_packet_during_a_poll_ends_the_poll_with_a_noop(polling: Polling) -> None:
    poll = polling.pending_get()

    assert polling.post("1") == (200, "ok")

    assert poll.result(PATIENCE_S) == (200, "6")
    assert polling.get()[0] == 400


def test_a_close_packet_that_overtakes_its_poll_still_ends_it_with_a_noop(patient: Endpoint) -> None:
    """They are on two connections, so the one sent first need not arrive first."""
    polling = Polling(patient)
    with (
        socket.create_connection(("127.0.0.1", polling.endpoint.port), timeout=PATIENCE_S) as close,
        socket.create_connection(("127.0.0.1", polling.endpoint.port), timeout=PATIENCE_S) as poll,
    ):
        close.sendall(
            f"POST /engine.io/?{polling.query} HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n1".encode()
        )
        poll.sendall(f"GET /engine.io/?{polling.query} HTTP/1.1\r\nHost: x\r\n\r\n".encode())

        assert poll.recv(4096).startswith(b"HTTP/1.1 200")


def test_what_comes_behind_a_close_packet_is_not_heard(polling: Polling) -> None:
    poll = polling.pending_get()

    polling.send("4before", "1", "4behind")

    assert poll.result(PATIENCE_S)[1] in ("4before", "6")
    assert polling.get()[0] == 400


def test_the_server_closes_a_session_behind_what_it_has_sent(client: Client) -> None:
    client.send("4one", "4two", "4end me")

    assert wait_for_the_end(client) == ["4one", "4two"]
    assert client.endpoint.state(client.sid) == {"ended": "server disconnect"}


def test_the_server_closes_a_pending_poll_with_a_close_packet(polling: Polling) -> None:
    poll = polling.pending_get()

    polling.send("4end me")

    assert poll.result(PATIENCE_S) == (200, "1")
    assert polling.get()[0] == 400


@pytest.mark.parametrize("way", ["close frame", "end", "reset"])
def test_the_end_of_a_websocket_ends_its_session(websocket: WebSocket, way: str) -> None:
    sock = websocket.connection.socket
    if way == "close frame":
        websocket.connection.close()
    elif way == "end":
        sock.shutdown(socket.SHUT_WR)
    else:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        sock.close()

    deadline_s = time.monotonic() + PATIENCE_S
    while "ended" not in (state := websocket.endpoint.state(websocket.sid)):
        assert time.monotonic() < deadline_s
        time.sleep(0.005)
    assert state == {"ended": "transport close"}
