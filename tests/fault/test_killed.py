"""Processes that are killed while notifications are published: what was acknowledged is there, once and in order.

Of a durable history nothing is lost; of one in memory what is lost is told as a gap. Nothing of a server outlives it.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests.support.fanouts import FANOUTS
from tests.support.followers import Follower, Publisher, following, wait_for
from tests.support.lab import wait_until_gone
from tests.support.server import RunningServer, ServerSettings, free_port, running_server, worker_of

pytestmark = pytest.mark.slow

BROKER = "sqlite:///history.db"

COUNT = 400
LIVES = 4
EVERYBODY = ("sse", "socketio", "sse", "socketio")


def kill_everything(server: RunningServer) -> None:
    """Master, worker and companions at once."""
    os.killpg(server.process.pid, signal.SIGKILL)
    server.process.wait()


def kill_worker(server: RunningServer) -> None:
    """As the kernel does when memory has run out; the master starts another."""
    worker = worker_of(server)
    worker.kill()
    wait_for(lambda: not worker.is_running(), server.log)
    wait_for(lambda: _is_ready(server), server.log)


def _is_ready(server: RunningServer) -> bool:
    with contextlib.suppress(OSError):
        return server.request("GET", "/readyz")[0] == 200
    return False


def has_all(follower: Follower) -> Callable[[], bool]:
    return lambda: len(follower.titles) >= COUNT


@pytest.mark.parametrize("fanout", FANOUTS)
def test_a_server_that_is_killed_and_restarted_under_publishing_loses_and_doubles_nothing(
    tmp_path: Path, fanout: str
) -> None:
    settings: ServerSettings = {
        "port": free_port(),
        "broker": BROKER,
        "recorder": 0,
        "heartbeat_s": 1,
        "fanout": fanout,
    }
    with contextlib.ExitStack() as lives:
        server = lives.enter_context(running_server(tmp_path, **settings))
        publisher = Publisher(server, COUNT)
        with following(server.port, EVERYBODY) as followers:
            publisher.start()
            for life in range(1, LIVES):
                wait_for(publisher.has_answers(life * COUNT // LIVES), server.log)
                kill_everything(server)
                server = lives.enter_context(running_server(tmp_path, **settings))
            wait_for(publisher.has_answers(COUNT), server.log)
            for follower in followers:
                wait_for(has_all(follower), lambda: f"{len(follower.titles)} came; {server.log()}")  # noqa: B023

            assert len({each["id"] for each in publisher.answered}) == COUNT
            for follower in followers:
                assert follower.titles == [str(number) for number in range(COUNT)]
                assert follower.gaps == []
                assert follower.connections >= LIVES


def test_a_worker_that_is_killed_is_replaced_and_nothing_is_lost_or_doubled(tmp_path: Path) -> None:
    with running_server(tmp_path, broker=BROKER, recorder=0, heartbeat_s=1) as server:
        publisher = Publisher(server, COUNT)
        with following(server.port, EVERYBODY) as followers:
            publisher.start()
            for life in range(1, LIVES):
                wait_for(publisher.has_answers(life * COUNT // LIVES), server.log)
                kill_worker(server)
            wait_for(publisher.has_answers(COUNT), server.log)
            for follower in followers:
                wait_for(has_all(follower), server.log)

            for follower in followers:
                assert follower.titles == [str(number) for number in range(COUNT)]
                assert follower.gaps == []


def test_a_history_in_memory_that_is_killed_is_told_as_a_gap(tmp_path: Path) -> None:
    with (
        running_server(tmp_path, recorder=0, heartbeat_s=1) as server,
        following(server.port, EVERYBODY) as followers,
    ):
        for number in range(5):
            server.publish(f"before {number}")
        for follower in followers:
            wait_for(lambda: len(follower.titles) == 5, server.log)  # noqa: B023
        kill_worker(server)
        for follower in followers:
            wait_for(lambda: follower.connections >= 2, server.log)  # noqa: B023
        server.publish("after")
        for follower in followers:
            wait_for(lambda: "after" in follower.titles, server.log)  # noqa: B023

        for follower in followers:
            assert follower.titles == [*(f"before {number}" for number in range(5)), "after"]
            assert {each["reason"] for each in follower.gaps} == {"epoch"}


def test_nothing_of_a_server_outlives_its_killed_master(tmp_path: Path) -> None:
    """Worker, clock channel and recorder notice by themselves."""
    with running_server(tmp_path) as server:
        family = psutil.Process(server.process.pid).children(recursive=True)
        assert len(family) >= 3
        os.kill(server.process.pid, signal.SIGKILL)
        server.process.wait()

        assert wait_until_gone(family, 30) == []
