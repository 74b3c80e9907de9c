"""Every way to start more than one worker on a broker of one process, and servers that serve one request at a time.

None of them may serve a notification: it would be lost in silence, or nobody else would be answered.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.support.patience import PATIENCE_S
from tests.support.server import ADMIN_TOKEN, ROOT, RunningServer, free_port, running_server
from tests.support.streams import sse

OURS = ["-c", str(ROOT / "gunicorn.conf.py")]
NONE = ["-c", "/dev/null", "--no-control-socket"]


@contextlib.contextmanager
def started(
    arguments: list[str], tmp_path: Path, **environment: str
) -> Iterator[tuple[subprocess.Popen[bytes], Path, int]]:
    port = free_port()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SIAR_", "GUNICORN"))}
    kept |= {
        "PYTHONPATH": str(ROOT),
        "SIAR_ADMIN_TOKEN": ADMIN_TOKEN,
        "SIAR_RUNS_DIR": str(tmp_path / "runs"),
    }
    kept |= {"SIAR_PORT": str(port), "SIAR_RECORDER": "0", **environment}
    bind = [] if arguments[:2] == OURS else ["-b", f"127.0.0.1:{port}"]
    path = tmp_path / "log"
    with path.open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "gunicorn", *arguments, *bind, "wsgi:app"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=kept,
            cwd=tmp_path,
            start_new_session=True,
        )
    try:
        yield process, path, port
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def is_companion(process: psutil.Process) -> bool:
    """The clock channel, or what has just ended."""
    try:
        return "clock_process" in " ".join(process.cmdline())
    except psutil.Error:
        return True


def until(holds: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline_s
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("arguments", "environment"),
    [
        pytest.param([*OURS, "-w", "3"], {}, marks=pytest.mark.slow),
        (OURS, {"GUNICORN_CMD_ARGS": "--workers=3"}),
        ([*NONE, "-w", "3"], {}),
        ([*NONE, "-k", "gthread", "--threads", "9"], {"WEB_CONCURRENCY": "3"}),
        ([*NONE, "-k", "gevent"], {"GUNICORN_CMD_ARGS": "--workers=3"}),
        ([*OURS, "--preload"], {}),
        pytest.param([*NONE, "--preload", "-k", "gthread", "--threads", "9"], {}, marks=pytest.mark.slow),
    ],
)
def test_a_start_that_would_lose_notifications_ends_with_a_sentence(
    arguments: list[str], environment: dict[str, str], tmp_path: Path
) -> None:
    with started(arguments, tmp_path, **environment) as (process, log, _):
        assert process.wait(PATIENCE_S) != 0
        said = log.read_text()
        # gunicorn itself shows a traceback where two of its workers fail in one moment.
        assert ("SIAR_WORKERS" in said) or ("--preload" in said), said


@pytest.mark.parametrize("kind", [[], pytest.param(["-k", "gthread"], marks=pytest.mark.slow)])
def test_a_worker_of_one_request_at_a_time_refuses_every_one(kind: list[str], tmp_path: Path) -> None:
    with started([*NONE, *kind], tmp_path) as (process, log, port):
        server = RunningServer(
            f"http://127.0.0.1:{port}", port, ADMIN_TOKEN, tmp_path, "", None, process, log
        )

        def answer() -> tuple[int, str]:
            with contextlib.suppress(OSError):
                return server.request("GET", "/readyz")
            return 0, ""

        until(lambda: answer()[0] != 0)
        status, problem = answer()
        assert status == 503
        assert json.loads(json.dumps(problem))["code"] == "one_at_a_time"
        assert "one request at a time" in log.read_text()


@pytest.mark.slow
def test_a_second_master_on_the_same_socket_does_not_serve(tmp_path: Path) -> None:
    """SIGUSR2, with which gunicorn replaces its own program."""
    port = free_port()
    script = str(Path(sys.executable).with_name("gunicorn"))
    command = [script, *NONE, "-k", "gthread", "--threads", "9", "-b", f"127.0.0.1:{port}", "wsgi:app"]
    with running_server(tmp_path, command=command, port=port) as server:
        os.kill(server.process.pid, signal.SIGUSR2)
        until(lambda: "SIGUSR2 asks" in server.log())
        until(lambda: len(psutil.Process(server.process.pid).children()) == 1)
        server.publish("still", "there")


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("configuration", ["ours", "none"])
def test_sigttin_never_has_two_workers_serve(configuration: str, count: int, tmp_path: Path) -> None:
    port = free_port()
    command = ["-m", "gunicorn", *OURS, "wsgi:app"]
    if configuration == "none":
        command = ["-m", "gunicorn", *NONE, "-k", "gthread", "--threads", "20", "-b", f"127.0.0.1:{port}"]
        command += ["--graceful-timeout", "1", "wsgi:app"]
    with running_server(tmp_path, command=command, port=port, recorder=0) as server:
        master = psutil.Process(server.process.pid)

        def workers() -> list[int]:
            return [each.pid for each in master.children() if not is_companion(each)]

        before = workers()
        for _ in range(count):
            os.kill(server.process.pid, signal.SIGTTIN)
        until(lambda: "SIGTTIN" in server.log())
        until(lambda: len(workers()) == 1 and (configuration == "ours" or workers() != before))
        until(lambda: server.request("GET", "/readyz")[0] == 200)
        with contextlib.ExitStack() as stack:
            streams = [stack.enter_context(sse(port)) for _ in range(6)]
            server.publish("once", "for all")
            assert [each.next_notification()["title"] for each in streams] == ["once"] * 6


def test_serve_reads_no_arguments_of_gunicorn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the workers nor the address: it would be served there, and another port was printed."""
    port = free_port()
    monkeypatch.setenv("GUNICORN_CMD_ARGS", f"--workers=3 --bind=127.0.0.1:{free_port()}")
    monkeypatch.setenv("WEB_CONCURRENCY", "many")
    command = ["-m", "app", "serve", "--host", "127.0.0.1", "--port", str(port), "--no-check", "--no-qr"]
    with running_server(tmp_path, command=command, port=port, recorder=0) as server:
        workers = [each for each in psutil.Process(server.process.pid).children() if not is_companion(each)]
        assert len(workers) == 1
        assert "GUNICORN_CMD_ARGS is not read" in server.log()
