"""Locust by itself counts what is missing and what came again, and nothing else as either."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from app.tools.calibrate.tcp_proxy import TcpProxy
from tests.support.followers import wait_for
from tests.support.plain_locust import plain_locust
from tests.support.proxy import tampered
from tests.support.server import free_port, running_server

HANDLER = "delay, handler"
USERS = 2


class Tricks:
    """Says one notification twice and swallows another one, by their titles."""

    def __init__(self) -> None:
        self.swallowed = 0

    def __call__(self, piece: bytes) -> list[bytes | None]:
        if b"Swallowed" in piece:
            self.swallowed += 1
            return []
        return [piece, piece] if b"Twice" in piece else [piece]


@pytest.mark.slow
def test_a_notification_that_never_came_is_a_gap_and_one_that_came_again_a_duplicate(tmp_path: Path) -> None:
    tricks = Tricks()
    with (
        running_server(tmp_path) as server,
        TcpProxy("127.0.0.1", server.port, to_client=tampered(tricks)) as proxy,
        plain_locust(tmp_path, proxy.url) as locust,
    ):
        locust.wait_for_connections(1)
        server.publish("First")
        locust.wait_for(HANDLER, 1)
        server.publish("Twice")
        locust.wait_for("duplicate", 1)
        server.publish("Swallowed")
        wait_for(lambda: tricks.swallowed == USERS, lambda: tricks.swallowed)
        server.publish("Last")
        locust.wait_for("gap", 1)
        counts = locust.counts()

    assert counts.all("duplicate") == [1, 1]
    assert counts.all("gap") == [1, 1]


@pytest.mark.slow
def test_what_a_user_missed_and_was_given_again_is_neither_a_gap_nor_a_delay(tmp_path: Path) -> None:
    with (
        running_server(tmp_path) as server,
        TcpProxy("127.0.0.1", server.port) as proxy,
        plain_locust(tmp_path, proxy.url) as locust,
    ):
        locust.wait_for_connections(1)
        server.publish("First")
        locust.wait_for(HANDLER, 1)
        proxy.shut()
        locust.wait_for("stream", 1)
        for _ in range(3):
            server.publish("Missed")
        proxy.open()
        locust.wait_for_connections(2)
        server.publish("Last")
        locust.wait_for(HANDLER, 2)
        counts = locust.counts()

    assert counts.all("gap") == [0, 0]
    assert counts.all("duplicate") == [0, 0]
    assert counts.all(HANDLER) == [2, 2]


@pytest.mark.slow
def test_after_a_restart_in_which_a_history_was_lost_nothing_has_come_again(tmp_path: Path) -> None:
    port = free_port()
    folders = [tmp_path / name for name in ("first", "second")]
    for each in folders:
        each.mkdir()
    with contextlib.ExitStack() as stack:
        first_life = stack.enter_context(contextlib.ExitStack())
        server = first_life.enter_context(running_server(folders[0], port=port))
        proxy = stack.enter_context(TcpProxy("127.0.0.1", port))
        locust = stack.enter_context(plain_locust(tmp_path, proxy.url))
        locust.wait_for_connections(1)
        for _ in range(5):
            server.publish("Old")
        locust.wait_for(HANDLER, 5)
        first_life.close()
        locust.wait_for("stream", 1)

        server = stack.enter_context(running_server(folders[1], port=port))
        locust.wait_for_connections(2)
        for _ in range(2):
            server.publish("New")
        locust.wait_for(HANDLER, 7)
        counts = locust.counts()

    assert counts.all("duplicate") == [0, 0]
    assert counts.all("gap") == [0, 0]
