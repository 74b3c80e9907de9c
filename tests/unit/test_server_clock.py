"""The server's time for Locust's own pages: whoever does not tell it holds nobody up."""

from __future__ import annotations

import socket
import time

from loadtests.server_clock import ServerClock


def test_a_host_that_says_nothing_has_no_clock_and_is_not_waited_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        begun_s = time.monotonic()
        found = ServerClock.ask("127.0.0.1", silent.getsockname()[1], timeout_s=0.05)

    assert found is None
    assert time.monotonic() - begun_s < 5.0


def test_a_port_where_nobody_listens_has_no_clock() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))

        assert ServerClock.ask("127.0.0.1", closed.getsockname()[1], timeout_s=5.0) is None
