"""Places in the request loop, and an address' share of its time."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.network_of import network_of
from app.server.wsgi.admission import Admission, TooManyConnections
from app.server.wsgi.connection_limiter import (
    BURST_S,
    PEAK_BURST,
    PEAK_FACTOR,
    PENALTY_S_MAX,
    REQUESTS_PER_S_PER_PLACE,
    ConnectionLimiter,
)
from app.server.wsgi.worker import PLACES_OF_A_CONNECTION, make_limiter
from app.settings import Settings

STRANGER, OTHER, FREE = "192.0.2.1", "192.0.2.2", "127.0.0.1"


class Stopped:
    """A clock that moves when it is told to."""

    def __init__(self) -> None:
        self.now_us = 1_000_000

    def __call__(self) -> int:
        return self.now_us


def limiter_of(
    count_max: int = 100, per_address_max: int = 2, now_us: Stopped | None = None
) -> ConnectionLimiter:
    return ConnectionLimiter(
        count_max=count_max,
        per_address_max=per_address_max,
        is_exempt=lambda address: address == FREE,
        now_us=now_us or Stopped(),
    )


@pytest.fixture
def pairs() -> Iterator[list[tuple[socket.socket, socket.socket]]]:
    made = [socket.socketpair() for _ in range(4)]
    yield made
    for pair in made:
        for each in pair:
            each.close()


def is_ended(peer: socket.socket) -> bool:
    peer.setblocking(False)
    try:
        return peer.recv(1) == b""
    except BlockingIOError:
        return False


def test_the_longest_idle_connection_of_an_address_at_its_limit_is_closed(
    pairs: list[tuple[socket.socket, socket.socket]],
) -> None:
    limiter = limiter_of()
    for number in range(2):
        assert limiter.enter(STRANGER)
        limiter.begin_idle(STRANGER, number, pairs[number][0])

    assert limiter.enter(STRANGER)

    assert [is_ended(peer) for _, peer in pairs[:2]] == [True, False]


def test_an_address_whose_connections_are_all_busy_gets_no_further_one() -> None:
    limiter = limiter_of()

    assert [limiter.enter(STRANGER) for _ in range(3)] == [True, True, False]
    assert limiter.enter(OTHER)
    limiter.leave(STRANGER)
    assert limiter.enter(STRANGER)


def test_the_longest_idle_connection_of_all_is_closed_when_no_place_is_left(
    pairs: list[tuple[socket.socket, socket.socket]],
) -> None:
    limiter = limiter_of(count_max=2)
    for number, address in enumerate((STRANGER, OTHER)):
        assert limiter.enter(address)
        limiter.begin_idle(address, number, pairs[number][0])
    limiter.end_idle(0)

    assert limiter.enter("192.0.2.3")

    assert [is_ended(peer) for _, peer in pairs[:2]] == [False, True]
    assert not limiter.enter("192.0.2.4"), "nobody is idle any more"


def test_a_drain_finds_all_idle_connections(pairs: list[tuple[socket.socket, socket.socket]]) -> None:
    limiter = limiter_of(per_address_max=4)
    for number in range(3):
        limiter.enter(STRANGER)
        limiter.begin_idle(STRANGER, number, pairs[number][0])
    limiter.end_idle(1)

    assert limiter.idle_sockets() == [pairs[0][0], pairs[2][0]]


def test_this_machine_is_neither_counted_nor_slowed_down() -> None:
    limiter = limiter_of(per_address_max=1)

    assert all(limiter.enter(FREE) for _ in range(50))
    assert {limiter.wait_s(FREE) for _ in range(10_000)} == {0.0}


@given(st.lists(st.integers(0, 200_000), min_size=1, max_size=200))
def test_an_address_never_has_more_than_its_share_of_requests(pauses_us: list[int]) -> None:
    now = Stopped()
    limiter = limiter_of(per_address_max=1, now_us=now)
    per_s = REQUESTS_PER_S_PER_PLACE
    begun_s = []
    for pause_us in pauses_us:
        now.now_us += pause_us
        begun_s.append(now.now_us / 1e6 + limiter.wait_s(STRANGER))

    begun_s.sort()
    for first, start_s in enumerate(begun_s):
        for count, end_s in enumerate(begun_s[first:], start=1):
            assert count <= per_s * (BURST_S + end_s - start_s) + 1 + 1e-6


def test_the_requests_of_a_burst_are_spaced_but_for_the_first_ones() -> None:
    """Otherwise a queue of as many as an address has connections would stand before everybody else."""
    limiter = limiter_of(per_address_max=100)
    pause_s = 1 / (100 * REQUESTS_PER_S_PER_PLACE * PEAK_FACTOR)

    waits_s = [limiter.wait_s(STRANGER) for _ in range(PEAK_BURST + 50)]

    assert waits_s[:PEAK_BURST] == [0.0] * PEAK_BURST
    assert waits_s[PEAK_BURST:] == pytest.approx([pause_s * number for number in range(50)], abs=1e-6)


def test_what_costs_more_than_a_request_waits_as_long_as_so_many_requests() -> None:
    one, many = limiter_of(per_address_max=10), limiter_of(per_address_max=10)
    for _ in range(40):
        one.wait_s(STRANGER)
    for _ in range(4):
        many.wait_s(STRANGER, 9.5)
        many.wait_s(STRANGER, 0.5)

    assert one.wait_s(STRANGER) == many.wait_s(STRANGER) > 0
    assert one.wait_s(FREE, 1000.0) == one.wait_s(FREE) == 0.0


def test_an_operator_who_publishes_on_many_connections_is_not_spaced() -> None:
    limiter = limiter_of(per_address_max=100)
    for _ in range(10 * PEAK_BURST):
        limiter.wait_s(STRANGER)
    limiter.credit(STRANGER)

    assert [limiter.wait_s(STRANGER) for _ in range(PEAK_BURST)] == [0.0] * PEAK_BURST


def test_an_address_at_its_rate_limit_does_not_slow_another_one() -> None:
    limiter = limiter_of(per_address_max=10)
    waits_s = [limiter.wait_s(STRANGER) for _ in range(1000)]

    assert max(waits_s) > 10
    assert limiter.wait_s(OTHER) == 0.0


def test_an_operators_requests_do_not_count_and_credit_nobody_else() -> None:
    limiter = limiter_of(per_address_max=1)
    for _ in range(10_000):
        assert limiter.wait_s(STRANGER) == 0.0
        limiter.credit(STRANGER)

    waits_s = [limiter.wait_s(STRANGER) for _ in range(50)]

    assert max(waits_s) > 10
    limiter.credit(OTHER)  # Never seen, as behind a proxy: nothing to give back.


def test_repeated_protocol_violations_have_a_bounded_penalty() -> None:
    limiter = limiter_of(per_address_max=100)
    for _ in range(1_000):
        limiter.penalise(STRANGER)

    assert 5 < limiter.wait_s(STRANGER) <= PENALTY_S_MAX
    assert limiter.wait_s(OTHER) == 0.0


def test_addresses_without_connections_are_forgotten() -> None:
    now = Stopped()
    limiter = limiter_of(now_us=now)
    for number in range(6_000):
        address = f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"
        assert limiter.enter(address)
        limiter.wait_s(address)
        limiter.leave(address)
        now.now_us += 1_000_000

    assert len(limiter._clients) < 5000


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::9", "2001:db8:1:2::/64"),
        ("::ffff:192.0.2.1", "::ffff:192.0.2.1"),
        ("", ""),
        ("unix:", "unix:"),
    ],
)
def test_an_ipv6_customer_is_one_client(address: str, network: str) -> None:
    assert network_of(address) == network


def test_one_ipv6_customer_cannot_take_all_subscriptions_with_many_addresses() -> None:
    admission = Admission(count_max=100, per_address_max=2)
    admission.enter("2001:db8::1")
    admission.enter("2001:db8::2")

    with pytest.raises(TooManyConnections, match="Your address"):
        admission.enter("2001:db8::3")
    admission.enter("2001:db8:0:1::3")
    admission.leave("2001:db8::1")
    admission.enter("2001:db8::4")


@pytest.mark.parametrize(
    ("proxies", "address", "is_free"),
    [
        ((), "127.0.0.1", True),
        ((), "::ffff:127.0.0.1", True),
        ((), "", True),
        ((), "192.0.2.7", False),
        (("192.0.2.7",), "192.0.2.7", True),
        (("192.0.2.7",), "127.0.0.1", False),
    ],
)
def test_loopback_is_exempt_unless_proxies_are_named_which_then_are(
    proxies: tuple[str, ...], address: str, is_free: bool
) -> None:
    limiter = make_limiter(Settings(trusted_proxies=proxies, connections_per_address_max=1), count_max=100)

    assert all(limiter.enter(address) for _ in range(PLACES_OF_A_CONNECTION))
    assert limiter.enter(address) is is_free
