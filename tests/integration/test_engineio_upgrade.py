"""The Engine.IO protocol, version 4, case by case: how a session of polling becomes one of a WebSocket.

Quotations are from the protocol's document. Where it is silent, the reference server (Node) is followed.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.patience import PATIENCE_S
from tests.support.protocol_server import (
    CLOSED_S_MAX,
    WAYS,
    Endpoint,
    Polling,
    WebSocket,
    closes_cleanly,
    probed,
    probing,
    protocol_server,
    upgraded,
)

LAST_POLL_S = 1.5
"""How long a poll during an upgrade is kept, here: ten times as long as otherwise, so that on a busy machine too the end
of an upgrade finds the poll that overtook it."""


@pytest.fixture(scope="module", params=WAYS, ids="-".join)
def endpoint(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    options = {"max_payload": 100_000, "last_poll_s": LAST_POLL_S}
    with protocol_server(tmp_path_factory.mktemp("upgrade"), request.param, **options) as server:
        yield Endpoint(server.port)


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


def test_an_upgrade_ends_the_pending_poll_and_takes_over(polling: Polling) -> None:
    poll = polling.pending_get()

    with probed(polling) as connection:
        assert poll.result(PATIENCE_S) == (200, "6")
        connection.send("5")
        connection.send("4hello")

        assert connection.recv(timeout=PATIENCE_S) == "4hello", "a stray packet came first"


def test_a_poll_during_an_upgrade_is_answered_with_a_noop(polling: Polling) -> None:
    with probed(polling) as connection:
        assert polling.get() == (200, "6")
        connection.send("5")
        connection.send("4hello")

        assert connection.recv(timeout=PATIENCE_S) == "4hello"


def test_nothing_is_lost_or_moved_by_an_upgrade(polling: Polling) -> None:
    expected = [f"4number {number}" for number in range(300)]
    received: list[str | bytes] = []

    polling.send(*expected[:100])
    received.append(polling.receive())
    with probed(polling) as connection:
        polling.send(*expected[100:200])
        connection.send("5")
        for packet in expected[200:]:
            connection.send(packet)
        received.extend(polling._received)
        while len(received) < 300:
            received.append(connection.recv(timeout=PATIENCE_S))

    assert received == expected


def test_packets_may_be_sent_by_post_until_the_upgrade_is_complete(polling: Polling) -> None:
    with probed(polling) as connection:
        assert polling.post("4by post") == (200, "ok")
        connection.send("5")

        assert connection.recv(timeout=PATIENCE_S) == "4by post"


def test_polling_is_over_after_an_upgrade(polling: Polling) -> None:
    with upgraded(polling) as connection:
        assert polling.get()[0] == 400
        assert polling.post("4hello")[0] == 400

        connection.send("4still here")
        assert connection.recv(timeout=PATIENCE_S) == "4still here"


def test_a_poll_that_overtakes_the_end_of_the_upgrade_gets_a_400(polling: Polling) -> None:
    with probed(polling) as connection:
        poll = polling.pending_get()
        connection.send("5")

        assert poll.result(PATIENCE_S)[0] == 400
        connection.send("4still here")
        assert connection.recv(timeout=PATIENCE_S) == "4still here"


@pytest.mark.parametrize("phase", [probing, probed, upgraded])
def test_a_second_websocket_of_a_session_is_closed_and_the_first_is_not(polling: Polling, phase: Any) -> None:
    # "A client MUST NOT open more than one WebSocket connection per session. Should it happen, the server MUST close
    # the WebSocket connection."
    with phase(polling) as first:
        with probing(polling) as second:
            assert closes_cleanly(second)

        if phase is probing:
            first.send("2probe")
            assert first.recv(timeout=PATIENCE_S) == "3probe"
        if phase is not upgraded:
            first.send("5")
        first.send("4hello")
        assert first.recv(timeout=PATIENCE_S) == "4hello"


def test_a_session_of_a_websocket_alone_takes_no_other(websocket: WebSocket) -> None:
    query = f"EIO=4&transport=websocket&sid={websocket.sid}"
    with websocket.endpoint.websocket(query) as second:
        assert closes_cleanly(second)

    assert websocket.endpoint.request(query.replace("websocket", "polling"))[0] == 400
    websocket.send("4still here")
    assert websocket.receive() == "4still here"


@pytest.mark.parametrize("packet", ["4hello", "abc", "5", "2", "2prob", "1", "3probe", b"2probe"])
def test_a_failed_probe_leaves_polling_as_it_was(polling: Polling, packet: str | bytes) -> None:
    with probing(polling) as connection:
        connection.send(packet)
        assert closes_cleanly(connection)

    polling.send("4still here")
    assert polling.receive() == "4still here"
    with upgraded(polling) as connection:
        connection.send("4and now")
        assert connection.recv(timeout=PATIENCE_S) == "4and now"


@pytest.mark.parametrize("packet", ["4hello", "abc", "6", "1"])
def test_so_does_an_upgrade_that_breaks_off(polling: Polling, packet: str) -> None:
    with probed(polling) as connection:
        connection.send(packet)
        assert closes_cleanly(connection)

    poll = polling.pending_get()
    polling.send("4still here")
    assert poll.result(PATIENCE_S) == (200, "4still here")


def test_so_does_a_websocket_that_is_lost_on_the_way(polling: Polling) -> None:
    connection = probed(polling)
    connection.socket.shutdown(socket.SHUT_RDWR)

    polling.wait_until(lambda state: not state["is_upgrading"], CLOSED_S_MAX)
    polling.send("4still here")
    assert polling.receive() == "4still here"


def test_a_probe_may_be_repeated(polling: Polling) -> None:
    with probed(polling) as connection:
        connection.send("2probe")
        assert connection.recv(timeout=PATIENCE_S) == "3probe"


def test_the_end_of_a_session_ends_its_upgrade(polling: Polling) -> None:
    with probed(polling) as connection:
        assert polling.post("1") == (200, "ok")

        assert closes_cleanly(connection)
