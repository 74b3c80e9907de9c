"""Who may ask the clock channel: pages of this host, under its own names, so many from one address."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator

import pytest
from websockets.exceptions import InvalidStatus

from app import clock
from app.core.protocol.websocket import handshake_key, handshake_request
from app.server.clock_process import ClockConnection, ClockServer
from tests.support.clock_process import ClockProcess, ask, start
from tests.support.patience import PATIENCE_S


@pytest.fixture(scope="module")
def clock_process() -> Iterator[ClockProcess]:
    """One clock for all tests, which must not have written a word to its log by the end of them."""
    running = start()
    yield running
    assert running.end() == b""


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "http://127.0.0.1.evil.example:80", "http://[", "http://localhost"],
)
def test_a_page_from_another_host_is_refused_with_403(clock_process: ClockProcess, origin: str) -> None:
    with pytest.raises(InvalidStatus) as refused:
        clock_process.connect(origin=origin)

    assert refused.value.response.status_code == 403


@pytest.mark.parametrize("origin", [None, "http://127.0.0.1", "https://127.0.0.1:8443"])
def test_no_origin_and_any_port_of_the_same_host_are_accepted(
    clock_process: ClockProcess, origin: str | None
) -> None:
    with clock_process.connect(origin=origin) as client:
        assert ask(client, 1)[1]["probe"] == 1


def test_further_hosts_may_be_allowed() -> None:
    running = start("--allowed-host", "siar.example", "Phone.local")

    with running.connect(origin="https://phone.local") as client:
        assert ask(client, 1)[1]["probe"] == 1
    assert status_for(running, "siar.example:1", origin="http://siar.example") == 101
    assert status_for(running, "evil.example:1", origin="http://evil.example") == 421

    assert running.end() == b""


def status_for(running: ClockProcess, host: str, *, origin: str, source: str = "127.0.0.1") -> int:
    """What a page of `origin` is answered whose browser was told that `host` is at this address."""
    request = handshake_request(
        host=host, target="/", key=handshake_key(bytes(16)), headers={"Origin": origin}
    )
    address = ("127.0.0.1", running.port)
    with socket.create_connection(address, timeout=PATIENCE_S, source_address=(source, 0)) as sock:
        sock.sendall(request)
        with sock.makefile("rb") as answer:
            return int(answer.readline().split()[1])


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("evil.example", 421),
        ("127.0.0.1.evil.example", 421),
        ("siar", 101),
        ("siar.local", 101),
        ("192.168.1.7", 101),
        ("[fd00::7]", 101),
    ],
)
def test_a_page_whose_own_name_was_pointed_here_is_refused(
    clock_process: ClockProcess, host: str, status: int
) -> None:
    """DNS rebinding: such a page is of the very host that it asks."""
    assert status_for(clock_process, f"{host}:{clock_process.port}", origin=f"http://{host}") == status


def is_let_in(running: ClockProcess, source: str) -> bool:
    """Whether one more connection from `source` is, which then ends."""
    try:
        return status_for(running, "127.0.0.1", origin="http://127.0.0.1", source=source) == 101
    except ConnectionError:  # The reset behind a 503 was quicker than its reader.
        return False


def test_one_address_cannot_take_all_places_and_gives_them_back() -> None:
    """With a proxy named, an address of loopback is one like any other."""
    running = start("--per-address-max", "2", "--trusted-proxy", "127.0.9.3")
    with contextlib.ExitStack() as proxied:
        with (
            running.connect(source_address=("127.0.9.1", 0)),
            running.connect(source_address=("127.0.9.1", 0)),
        ):
            assert not is_let_in(running, "127.0.9.1")
            assert is_let_in(running, "127.0.9.2")
            for _ in range(3):
                proxied.enter_context(running.connect(source_address=("127.0.9.3", 0)))

        deadline_us = clock.monotonic_us() + 60_000_000
        while not is_let_in(running, "127.0.9.1"):
            assert clock.monotonic_us() < deadline_us, "the places were not given back"

    assert running.end() == b""


def test_the_addresses_of_one_ipv6_customer_share_their_places() -> None:
    clock_server = ClockServer(connections_max=10, per_address_max=1, allowed_hosts=frozenset())

    def enters(address: str) -> bool:
        return clock_server.enter(ClockConnection(clock_server), address)

    assert enters("2001:db8::1")
    assert not enters("2001:db8::ffff")
    assert enters("2001:db8:0:1::1")
    assert enters("192.0.2.1")
    assert not enters("192.0.2.1")
    assert enters("127.0.0.1")
    assert enters("127.0.0.1"), "where no proxy is named, this machine is trusted"
