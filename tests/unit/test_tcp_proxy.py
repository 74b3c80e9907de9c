"""The TCP proxy of calibration and tests, and the ways with which tests make a line bad."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from app.tools.calibrate.tcp_proxy import TcpProxy, Way, forward
from tests.support.proxy import CUT, Torn, bad_line, calling_at, delayed, held, tampered


@contextmanager
def through(
    *, to_client: Way = forward, to_server: Way = forward
) -> Iterator[tuple[TcpProxy, socket.socket, socket.socket]]:
    """Yield a proxy, and the server's and the client's end of a connection through it."""
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        TcpProxy("127.0.0.1", listener.getsockname()[1], to_client=to_client, to_server=to_server) as proxy,
        socket.create_connection(("127.0.0.1", proxy.own_port), timeout=10) as client,
    ):
        server, _ = listener.accept()
        server.settimeout(10)
        with server:
            yield proxy, server, client


def all_of(sock: socket.socket) -> bytes:
    with sock.makefile("rb") as file:
        return file.read()


def test_each_direction_passes_and_ends_by_itself() -> None:
    with through() as (_, server, client):
        client.sendall(b"question")
        client.shutdown(socket.SHUT_WR)
        question = all_of(server)
        server.sendall(b"answer")
        server.shutdown(socket.SHUT_WR)
        answer = all_of(client)

    assert (question, answer) == (b"question", b"answer")


def test_a_reset_in_the_middle_reaches_both_ends_after_the_bytes_before_it() -> None:
    torn = Torn(5, 5)
    with through(to_client=torn) as (_, server, client):
        server.sendall(b"abcdefgh")

        assert client.recv(100) == b"abcde"
        for end in (client, server):
            with pytest.raises(ConnectionResetError):
                end.recv(100)
    assert torn.tears == 1


def test_a_piece_is_followed_by_the_end_where_a_connection_is_cut() -> None:
    with through(to_client=tampered(lambda piece: [piece, piece, CUT])) as (_, server, client):
        server.sendall(b"ab")

        assert all_of(client) == b"abab"


def test_a_connection_waits_while_the_proxy_is_shut_and_open_ones_are_broken() -> None:
    with through() as (proxy, _, client):
        proxy.shut()
        assert client.recv(1) == b""
        with (
            socket.create_connection(("127.0.0.1", proxy.own_port), timeout=0.1) as waiting,
            pytest.raises(TimeoutError),
        ):
            waiting.recv(1)


def test_the_given_chunk_is_preceded_by_a_call() -> None:
    calls: list[int] = []
    with through(to_client=calling_at(2, lambda: calls.append(1))) as (_, server, client):
        server.sendall(b"a")
        assert (client.recv(1), calls) == (b"a", [])
        server.sendall(b"b")
        assert (client.recv(1), calls) == (b"b", [1])


def test_only_the_named_request_is_held_back_until_it_may_pass() -> None:
    may_pass = threading.Event()
    with through(to_server=held(may_pass, line=b" /held")) as (_, server, client):
        client.sendall(b"GET /other HTTP/1.1\r\n\r\n")
        other = server.recv(100)
        client.sendall(b"GET /held HTTP/1.1\r\n\r\n")
        server.settimeout(0.1)
        with pytest.raises(TimeoutError):
            server.recv(100)
        may_pass.set()
        server.settimeout(10)

        assert (other[:10], server.recv(100)[:9]) == (b"GET /other", b"GET /held")


@pytest.mark.parametrize(
    ("way", "least_s"),
    [
        (delayed(0.05), 0.05),
        (bad_line(latency_s=0.05), 0.05),
        (bad_line(bytes_per_s=20_000), 0.05),
        (bad_line(slice_bytes=7, jitter_s=0.001), 0.0),
    ],
    ids=["delayed", "late", "narrow", "sliced"],
)
def test_a_bad_line_changes_no_byte_and_takes_its_time(way: Way, least_s: float) -> None:
    sent = bytes(range(250)) * 4
    with through(to_client=way) as (_, server, client):
        began_s = time.monotonic()
        server.sendall(sent)
        server.shutdown(socket.SHUT_WR)
        found = all_of(client)
        took_s = time.monotonic() - began_s

    assert found == sent
    assert took_s >= least_s


def test_a_client_that_does_not_read_stops_the_server() -> None:
    with through() as (_, server, _client):
        server.settimeout(0.5)
        with pytest.raises(TimeoutError):
            server.sendall(bytes(200_000_000))
