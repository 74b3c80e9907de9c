"""`serve` when something is not as it should be: companions that die, folders and ports that cannot be had."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import pty
import re
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

from app import clock
from app.server.wsgi.supervisor import Supervisor
from app.store.run_folder import MARK_FILE, make_folder
from tests.support.followers import wait_for
from tests.support.orphans import end_with_us
from tests.support.patience import PATIENCE_S
from tests.support.server import ROOT, RunningServer, free_port, running_server


def companion(server: RunningServer, module: str) -> psutil.Process | None:
    """The server's companion that runs now."""
    for child in psutil.Process(server.process.pid).children():
        with contextlib.suppress(psutil.Error):
            if module in child.cmdline() and child.status() != psutil.STATUS_ZOMBIE:
                return child
    return None


def killed_and_back(server: RunningServer, module: str) -> None:
    first = companion(server, module)
    assert first is not None
    first.kill()
    wait_for(
        lambda: (second := companion(server, module)) is not None and second.pid != first.pid, server.log
    )


def probe(port: int) -> dict[str, object]:
    """What the clock channel answers, once it does."""
    answers: list[dict[str, object]] = []

    def is_answered() -> bool:
        with contextlib.suppress(OSError, WebSocketException), connect(f"ws://127.0.0.1:{port}/") as clock:
            clock.send('{"probe":7}')
            answers.append(json.loads(clock.recv(timeout=PATIENCE_S)))
        return bool(answers)

    wait_for(is_answered, lambda: f"no clock on port {port}")
    return answers[0]


@pytest.mark.slow
def test_a_killed_clock_is_back_on_its_port_and_in_its_time_base(tmp_path: Path) -> None:
    with running_server(tmp_path) as server:
        assert server.clock_port is not None
        before = probe(server.clock_port)

        killed_and_back(server, "app.server.clock_process")

        assert probe(server.clock_port)["timebase"] == before["timebase"]
        assert server.log().count("The clock channel ended; it is started again.") == 1


@pytest.mark.slow
def test_a_killed_recorder_is_back_and_ends_with_the_server(tmp_path: Path) -> None:
    with running_server(tmp_path) as server:
        killed_and_back(server, "app.lab.run.recorder")
        again = companion(server, "app.lab.run.recorder")
        assert again is not None

        server.process.terminate()
        assert server.process.wait(20) == 0

        assert not again.is_running()
        assert server.log().count("The recorder ended; it is started again.") == 1


def test_a_server_puts_old_runs_away_soon_after_its_start_and_leaves_the_new_ones(tmp_path: Path) -> None:
    old, new = (tmp_path / "runs" / f"live-2026-01-01T00-00-00-{number}" for number in ("0001", "0002"))
    for folder in (old, new):
        make_folder(folder)
    long_ago_s = clock.now_us() / 1e6 - 31 * 86_400
    for path in (old / MARK_FILE, old):
        os.utime(path, (long_ago_s, long_ago_s))
    # Not by the name that `running_server` gives a pipe to: the server of a test or a demo sweeps nothing.
    command = ("-m", "gunicorn.app.wsgiapp", "-c", str(ROOT / "gunicorn.conf.py"), "wsgi:app")

    with running_server(tmp_path, command=command, cwd=ROOT) as server:
        wait_for(lambda: not old.exists(), server.log)

        assert (server.runs_dir / ".trash" / old.name).exists()
        assert new.exists()
        assert (server.runs_dir / server.run).exists()


@contextlib.contextmanager
def keeper(said: list[str]) -> Iterator[Supervisor]:
    kept = Supervisor(said.append, pause_s=0.01)
    yield kept
    kept.close()


def ended_process() -> subprocess.Popen[bytes]:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process


def test_a_companion_that_does_not_last_is_tried_less_and_less_often() -> None:
    said: list[str] = []
    tried_us: list[int] = []
    enough = threading.Event()

    def start() -> subprocess.Popen[bytes]:
        tried_us.append(clock.monotonic_us())
        if len(tried_us) == 5:
            enough.set()
        raise OSError("no process to be had")

    with keeper(said) as kept:
        kept.add("recorder", ended_process(), start)
        kept.watch(lambda: False)
        assert enough.wait(PATIENCE_S)

    steps_us = [after - before for before, after in itertools.pairwise(tried_us)]
    assert all(step >= 10_000 * 2**n for n, step in enumerate(steps_us, start=1))
    assert said == ["The recorder ended; it is started again."]


def test_nothing_is_started_while_the_server_ends() -> None:
    said: list[str] = []
    asked: list[bool] = []
    enough = threading.Event()

    def is_ending() -> bool:
        asked.append(True)
        if len(asked) == 5:
            enough.set()
        return True

    def start() -> subprocess.Popen[bytes]:
        raise AssertionError("started while ending")

    with keeper(said) as kept:
        kept.add("recorder", ended_process(), start)
        kept.watch(is_ending)
        assert enough.wait(PATIENCE_S)

    assert said == []


@pytest.mark.slow
def test_a_clock_port_that_is_the_service_port_gives_way(tmp_path: Path) -> None:
    port = free_port()

    with running_server(tmp_path, port=port, clock_port=port) as server:
        assert server.clock_port not in (None, 0, port)
        assert "SIAR_CLOCK_PORT is the service's own port" in server.log()


@pytest.mark.slow
def test_the_clock_has_the_port_of_the_last_start_where_it_is_free(tmp_path: Path) -> None:
    port, ports = free_port(), []
    for _ in range(2):
        with running_server(tmp_path, port=port, command=("-m", "app", "serve")) as server:
            ports.append(server.clock_port)
            assert server.clock_port is not None
            probe(server.clock_port)
    with (
        socket.create_server(("0.0.0.0", ports[0] or 0)),
        running_server(tmp_path, port=port, command=("-m", "app", "serve")) as server,
    ):
        assert server.clock_port not in (None, 0, ports[0])
        assert f"The clock channel's port {ports[0]} is taken" in server.log()

    assert ports[0] == ports[1]


@pytest.mark.slow
def test_gunicorn_serves_without_a_recorder_when_its_folder_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("a file")

    with running_server(tmp_path) as server:
        assert "No recorder" in server.log()
        assert server.publish()["id"]


def serve(folder: Path, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """`./siar serve`, where it is to end by itself."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SIAR_")}
    return subprocess.run(
        [sys.executable, "-P", "-m", "app", "serve", "--port", "0", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=folder,
        env={**environment, "PYTHONPATH": str(ROOT), **settings},
    )


def is_ready(port: int) -> bool:
    with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz") as answer:
        return bool(answer.status == 200)
    return False


@pytest.mark.parametrize("runs", ["file", "file/runs", "/proc/runs"])
def test_a_runs_folder_that_cannot_be_had_is_said_in_a_sentence(tmp_path: Path, runs: str) -> None:
    (tmp_path / "file").write_text("in the way")

    done = serve(tmp_path, SIAR_RUNS_DIR=runs)

    assert done.returncode == 3
    assert f"Runs cannot be written into {runs}" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("host", ["no-such-host.invalid", "192.0.2.1", "x" * 70])
def test_a_host_that_is_not_this_machine_is_named_as_the_reason(tmp_path: Path, host: str) -> None:
    done = serve(tmp_path, "--host", host)

    assert done.returncode == 3
    assert "does not name an address of this machine" in done.stderr


def test_a_port_that_is_taken_is_still_said_to_be(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = serve(tmp_path, "--host", "127.0.0.1", "--port", str(taken.getsockname()[1]))

    assert done.returncode == 3
    assert "Another program" in done.stderr


@pytest.mark.slow
def test_port_0_is_printed_as_the_port_that_it_became(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SIAR_")}
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "app", "serve", "--host", "127.0.0.1", "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env={**environment, "PYTHONPATH": str(ROOT)},
        preexec_fn=end_with_us(),  # noqa: PLW1509 - two system calls, no lock, no import
    )
    with process:
        try:
            assert process.stdout is not None
            port = next(
                int(m[1]) for line in process.stdout if (m := re.search(r"127\.0\.0\.1:(\d+)/", line))
            )
            assert port != 0
            wait_for(lambda: is_ready(port), lambda: f"not ready; its exit code: {process.poll()}", times=2)
        finally:
            process.terminate()
            process.wait(20)


def test_serve_says_where_everybody_goes_and_its_link_signs_in_once(tmp_path: Path) -> None:
    """In the reader's language, and without a QR code where nobody can hold a phone up to it."""
    port = free_port()
    command = ["-m", "app", "serve", "--port", str(port), "--lang", "id", "--admin-token", "short"]
    with running_server(tmp_path, command=command, port=port, host="127.0.0.1") as server:
        said = server.log()
        link = re.search(rf"operator +(http://127\.0\.0\.1:{port}/admin\?key=([\w-]+))\n", said)
        assert link is not None, said
        screen = re.search(rf"http://127\.0\.0\.1:{port}/screen\?key=(\w+)", said)
        assert screen is not None, said

        answers = [server.request("POST", "/api/sessions", {"key": link[2]}, token="")[0] for _ in range(2)]

        assert answers == [201, 403]
        assert server.request("GET", f"/api/screen?key={screen[1]}", token="")[0] == 200
        assert "Siar menyiarkan notifikasi" in said
        assert "Hanya mesin ini yang dapat menjangkaunya" in said
        assert "Token operator pendek" in said
        assert not {"\u2580", "\u2584", "\u2588"} & set(said)
        found = json.loads((server.runs_dir / ".server.json").read_text())
        assert (found["url"], found["token"]) == (server.url, "short")

    assert not (server.runs_dir / ".server.json").exists()


@pytest.mark.slow
def test_a_terminal_gets_a_qr_code_and_the_address_under_it(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SIAR_")}
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "app", "serve", "--host", "127.0.0.1", "--port", "0", "--lang", "en"],
        stdin=subprocess.DEVNULL,
        stdout=slave,
        cwd=tmp_path,
        env={
            **environment,
            "PYTHONPATH": str(ROOT),
            "TERM": "xterm",
            "COLUMNS": "80",
            "PYTHONIOENCODING": "utf-8",
        },
        preexec_fn=end_with_us(),  # noqa: PLW1509 - two system calls, no lock, no import
    )
    os.close(slave)
    said = b""
    try:
        while b"Ctrl-C ends it." not in said:
            said += os.read(master, 65_536)
    finally:
        process.terminate()
        process.wait(20)
        os.close(master)

    lines = said.decode().splitlines()
    last = max(number for number, line in enumerate(lines) if line.startswith("\x1b[30;107m"))
    assert "\u2580" in said.decode()
    assert re.fullmatch(r"  http://127\.0\.0\.1:\d+/", lines[last + 1])
