"""The Engine.IO protocol, version 4, case by case: pings, pongs, and sessions that fall silent."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

import pytest

from tests.support.patience import PATIENCE_S
from tests.support.protocol_server import (
    CLIENTS,
    WAYS,
    Endpoint,
    Polling,
    WebSocket,
    probed,
    protocol_server,
    wait_for_the_end,
)

PING_INTERVAL_S = 0.3

PING_TIMEOUT_S = 0.4

PATIENT_TIMEOUT_S = 3.0


@pytest.fixture(scope="module", params=WAYS, ids="-".join)
def quick(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """One that pings soon and often, and does not wait long for a pong."""
    options = {"ping_interval_s": PING_INTERVAL_S, "ping_timeout_s": PING_TIMEOUT_S}
    with protocol_server(tmp_path_factory.mktemp("quick"), request.param, **options) as server:
        yield Endpoint(server.port)


@pytest.fixture(scope="module", params=WAYS, ids="-".join)
def patient(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """One that pings as often, for clients that answer: on a busy machine a pong may be late by more than 0.4 s."""
    options = {"ping_interval_s": PING_INTERVAL_S, "ping_timeout_s": PATIENT_TIMEOUT_S}
    with protocol_server(tmp_path_factory.mktemp("patient"), request.param, **options) as server:
        yield Endpoint(server.port)


def test_fractions_of_a_second_are_announced_exactly(quick: Endpoint) -> None:
    opened = Polling(quick).opened

    assert (opened["pingInterval"], opened["pingTimeout"]) == (300, 400)


@pytest.mark.parametrize("transport", CLIENTS)
def test_pings_go_on_while_pongs_come(patient: Endpoint, transport: str) -> None:
    began_s = time.monotonic()
    client = CLIENTS[transport](patient)

    for _ in range(4):
        assert client.receive() == "2"
        client.send("3")

    assert time.monotonic() - began_s >= 4 * PING_INTERVAL_S - 0.05
    client.close()


@pytest.mark.parametrize("transport", CLIENTS)
def test_a_session_without_a_pong_ends_at_its_own_deadline(quick: Endpoint, transport: str) -> None:
    began_s = time.monotonic()
    client = CLIENTS[transport](quick)

    assert wait_for_the_end(client) == ["2"]
    lived_s = time.monotonic() - began_s

    assert PING_INTERVAL_S + PING_TIMEOUT_S - 0.1 < lived_s < PING_INTERVAL_S + PING_TIMEOUT_S + 20
    assert quick.state(client.sid) == {"ended": "ping timeout"}


def test_a_session_past_its_deadline_answers_400(quick: Endpoint) -> None:
    polling = Polling(quick)

    # Nothing to wait for: the question is what a poll gets. On a busy machine the ping itself may come late.
    time.sleep(PING_INTERVAL_S + PING_TIMEOUT_S)
    status, body = polling.get()
    while status == 200:
        assert body == "2"
        status, body = polling.get()

    assert status == 400


def test_a_session_that_answers_does_not_suffer_from_one_that_does_not(patient: Endpoint) -> None:
    silent, good = WebSocket(patient), WebSocket(patient)

    for _ in range(round(PATIENT_TIMEOUT_S / PING_INTERVAL_S) + 2):  # Until the other one's time is over.
        assert good.receive() == "2"
        good.send("3")

    assert wait_for_the_end(silent) == ["2"]
    good.send("4still here")
    while (packet := good.receive()) == "2":
        good.send("3")
    assert packet == "4still here"
    good.close()


def test_pongs_that_nobody_asked_for_do_not_put_the_ping_off(patient: Endpoint) -> None:
    """They come all the time, and more often than pings: who begins its interval anew with each would never ping."""
    client = WebSocket(patient)
    began_s = time.monotonic()

    packet: str | bytes | None = None
    while packet is None and time.monotonic() - began_s < PATIENCE_S:
        client.send("3")
        with contextlib.suppress(TimeoutError):
            packet = client.connection.recv(timeout=PING_INTERVAL_S / 6)

    assert packet == "2"
    client.close()


def test_an_upgraded_session_is_pinged_over_its_websocket(patient: Endpoint) -> None:
    polling = Polling(patient)
    with probed(polling) as connection:
        connection.send("5")
        for _ in range(3):
            assert connection.recv(timeout=PATIENCE_S) == "2"
            connection.send("3")

        assert polling.get()[0] == 400
