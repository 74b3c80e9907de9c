"""A server that is stopped for longer than its master's limit for a silent worker: Ctrl-Z and `fg`, `docker pause`."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.followers import following, wait_for
from tests.support.server import GUNICORN, RunningServer, running_server, worker_of

pytestmark = pytest.mark.slow

LIMIT_S = 4
"""gunicorn's limit for a silent worker; ours is 60 s."""

PAUSE_S = LIMIT_S + 2.5

REAL_PAUSE_S = 75

COMMAND = (*GUNICORN[:-1], "--timeout", str(LIMIT_S), GUNICORN[-1])

TRANSPORTS = ("sse", "socketio")


def pause(server: RunningServer, seconds: float) -> None:
    os.killpg(server.process.pid, signal.SIGSTOP)
    try:
        time.sleep(seconds)
    finally:
        os.killpg(server.process.pid, signal.SIGCONT)


@pytest.mark.parametrize("green_threads", ["eventlet", "gevent"])
def test_a_pause_beyond_the_limit_costs_no_worker_and_no_notification(
    tmp_path: Path, green_threads: str
) -> None:
    check_pauses(tmp_path, PAUSE_S, 3, command=COMMAND, green_threads=green_threads)


@pytest.mark.nightly
@pytest.mark.parametrize("green_threads", ["eventlet", "gevent"])
def test_five_pauses_beyond_the_real_limit(tmp_path: Path, green_threads: str) -> None:
    check_pauses(tmp_path, REAL_PAUSE_S, 5, green_threads=green_threads)


def check_pauses(tmp_path: Path, pause_s: float, count: int, **settings: Any) -> None:
    titles = [str(number) for number in range(count)]
    with (
        running_server(tmp_path, recorder=0, **settings) as server,
        following(server.port, TRANSPORTS) as followers,
    ):
        worker = worker_of(server).pid
        for title in titles:
            pause(server, pause_s)
            server.publish(title, "")
        for follower in followers:
            wait_for(lambda: follower.titles == titles, server.log)  # noqa: B023
        assert worker_of(server).pid == worker, server.log()
        assert [follower.gaps for follower in followers] == [[], []], server.log()
    assert "This server did not run for" in server.log()
    assert "TIMEOUT" not in server.log()


def test_a_worker_that_is_stuck_is_replaced_within_the_limit_also_after_a_pause(tmp_path: Path) -> None:
    with running_server(tmp_path, command=COMMAND, recorder=0) as server:
        for is_paused in (False, True):
            stuck = worker_of(server)
            if is_paused:
                pause(server, PAUSE_S)
            stuck.suspend()
            wait_for(lambda: not stuck.is_running(), server.log)  # noqa: B023
            wait_for(lambda: server.request("GET", "/readyz")[0] == 200, server.log)
        assert server.log().count("WORKER TIMEOUT") == 2
