"""`serve` when something is not as it should be: companions that die, folders and ports that cannot be had."""

from __future__ import annotations

import contextlib
import itertools
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

from app.serving.companions import Keeper
from tests.support.server import RunningServer, free_port, running_server


def companion(server: RunningServer, module: str) -> psutil.Process | None:
    """The server's companion that runs now; pytest's own timeout bounds a wait for it."""
    for child in psutil.Process(server.process.pid).children():
        with contextlib.suppress(psutil.Error):
            if module in child.cmdline() and child.status() != psutil.STATUS_ZOMBIE:
                return child
    return None


def killed_and_back(server: RunningServer, module: str) -> None:
    first = companion(server, module)
    assert first is not None
    first.kill()
    while (second := companion(server, module)) is None or second.pid == first.pid:
        assert server.process.poll() is None


def probe(port: int) -> dict[str, object]:
    while True:
        with contextlib.suppress(OSError, WebSocketException), connect(f"ws://127.0.0.1:{port}/") as clock:
            clock.send('{"probe":7}')
            answer: dict[str, object] = json.loads(clock.recv(timeout=5))
            return answer


def test_a_killed_clock_is_back_on_its_port_and_in_its_time_base(tmp_path: Path) -> None:
    with running_server(tmp_path) as server:
        assert server.clock_port is not None
        before = probe(server.clock_port)

        killed_and_back(server, "app.clock_process")

        assert probe(server.clock_port)["timebase"] == before["timebase"]
        assert server.log().count("The clock channel ended; it is started again.") == 1


def test_a_killed_recorder_is_back_and_ends_with_the_server(tmp_path: Path) -> None:
    with running_server(tmp_path) as server:
        killed_and_back(server, "app.experiment.recorder")
        again = companion(server, "app.experiment.recorder")
        assert again is not None

        server.process.terminate()
        assert server.process.wait(20) == 0

        assert not again.is_running()
        assert server.log().count("The recorder ended; it is started again.") == 1


@contextlib.contextmanager
def keeper(said: list[str]) -> Iterator[Keeper]:
    kept = Keeper(said.append, pause_s=0.01)
    yield kept
    kept.close()


def sleeper(seconds: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", f"import time; time.sleep({seconds})"])


def test_a_companion_that_does_not_last_is_tried_less_and_less_often() -> None:
    said: list[str] = []
    pauses_us: list[int] = []
    ended = sleeper(0)
    ended.wait()

    def start() -> subprocess.Popen[bytes]:
        pauses_us.append(kept._kept[0].again_us or 0)
        if len(pauses_us) == 5:
            kept._is_over.set()
        raise OSError("no process to be had")

    with keeper(said) as kept:
        kept.add("recorder", ended, start)
        kept.watch(lambda: False)
        kept._is_over.wait()

    steps_us = [after - before for before, after in itertools.pairwise(pauses_us)]
    assert all(step >= 10_000 * 2**n for n, step in enumerate(steps_us, start=1))
    assert said == ["The recorder ended; it is started again."]


def test_nothing_is_started_while_the_server_ends() -> None:
    said: list[str] = []
    asked: list[bool] = []
    ended = sleeper(0)
    ended.wait()

    def is_ending() -> bool:
        asked.append(True)
        if len(asked) == 5:
            kept._is_over.set()
        return True

    def start() -> subprocess.Popen[bytes]:
        raise AssertionError("started while ending")

    with keeper(said) as kept:
        kept.add("recorder", ended, start)
        kept.watch(is_ending)
        kept._is_over.wait()

    assert said == []


def test_a_clock_port_that_is_the_service_port_gives_way(tmp_path: Path) -> None:
    port = free_port()

    with running_server(tmp_path, port=port, clock_port=port) as server:
        assert server.clock_port not in (None, 0, port)
        assert "SIAR_CLOCK_PORT is the service's own port" in server.log()


def test_gunicorn_serves_without_a_recorder_when_its_folder_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("a file")

    with running_server(tmp_path) as server:
        assert "No recorder" in server.log()
        assert server.publish()["id"]
