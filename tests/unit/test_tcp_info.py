"""What Linux tells of a connection, against a connection whose traffic is known, and on kernels that tell less."""

import socket
import sys
from collections.abc import Iterator

import pytest

from app.core.units import ServerUs
from app.server.fanout import tcp_info

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="TCP_INFO by Linux's places of its fields")


@pytest.fixture(params=["127.0.0.1", "::1"])
def pair(request: pytest.FixtureRequest) -> Iterator[tuple[socket.socket, socket.socket]]:
    family = socket.AF_INET6 if ":" in request.param else socket.AF_INET
    with socket.socket(family) as listener:
        try:
            listener.bind((request.param, 0))
        except OSError:
            pytest.skip("no IPv6 here")
        listener.listen()
        with socket.create_connection(listener.getsockname()[:2]) as client, listener.accept()[0] as served:
            served.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            yield served, client


def read_exactly(sock: socket.socket, count: int) -> None:
    while count:
        count -= len(sock.recv(count))


def test_bytes_and_segments_are_those_that_were_sent(pair: tuple[socket.socket, socket.socket]) -> None:
    served, client = pair
    is_ipv6 = served.family == socket.AF_INET6
    for _ in range(5):
        served.send(b"x" * 100)
        read_exactly(client, 100)
        client.send(b"y")
        read_exactly(served, 1)

    raw = tcp_info.read_raw(served)

    assert raw is not None
    found = tcp_info.parse(raw, at_us=ServerUs(7), is_ipv6=is_ipv6)
    assert (found.at_us, found.bytes_sent, found.bytes_received) == (7, 500, 5)
    assert (found.data_segments_out, found.retransmissions) == (5, 0)
    assert found.segments_out is not None
    assert found.segments_out >= 5
    assert found.bytes_acked is not None
    assert 400 <= found.bytes_acked <= 501
    assert 0 < found.rtt_us < 1_000_000
    assert found.min_rtt_us is not None
    assert found.min_rtt_us <= found.rtt_us
    assert found.header_bytes in ((60, 72) if is_ipv6 else (40, 52))


def test_an_older_kernel_s_shorter_answer_gives_what_it_has(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    raw = tcp_info.read_raw(pair[0])
    assert raw is not None

    found = tcp_info.parse(raw[: tcp_info.LEAST_BYTES], at_us=ServerUs(0), is_ipv6=False)

    assert found.rtt_us > 0
    assert found.bytes_sent is found.segments_out is found.min_rtt_us is found.delivered is None


def test_a_socket_that_is_not_tcp_or_closed_has_none() -> None:
    one, other = socket.socketpair()
    with other:
        assert tcp_info.read_raw(one) is None
        one.close()
        assert tcp_info.read_raw(one) is None
