"""What a closed terminal and signals do to a server and to commands that measure (the table in docs/operations.md)."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from app.lab.run import api
from app.store.store import Store
from tests.support.commands import environment_of
from tests.support.followers import Follower, following, wait_for
from tests.support.orphans import left_in
from tests.support.patience import PATIENCE_S
from tests.support.phone import phones
from tests.support.server import RunningServer, free_port, running_server, worker_of
from tests.support.terminal import in_terminal

pytestmark = pytest.mark.slow

WORKERS = ["eventlet", "gevent"]

DRAIN_S = 10
"""For so long the master waits for a worker that it has told to end (`graceful_timeout`)."""

MEASURING = {
    "demo": ("demo", "--seed", "4"),
    "run": (
        "run",
        "--seed",
        "4",
        "--clients",
        "1",
        "--blocks",
        "200",
        "--notifications",
        "10",
        "--rate",
        "50",
    ),
    "load": ("load", "--seed", "4", "--users", "20", "--duration", "5s", "--blocks", "9"),
}
"""Commands that would measure for minutes."""


def siar(*arguments: str) -> list[str]:
    return [sys.executable, "-P", "-m", "app", *arguments]


def epoch(server: RunningServer) -> str:
    answer = server.publish("?", "")
    return str(answer["id"]).partition(".")[0]


def the_run(folder: Path) -> Path:
    (found,) = (each.parent for each in (folder / "runs").glob("*/run.sqlite"))
    return found


def has_begun(folder: Path) -> bool:
    """A trial is on record."""
    for path in (folder / "runs").glob("*/run.sqlite"):
        with contextlib.suppress(Exception), Store.open(path.parent) as store:
            return bool(store.load().trials)
    return False


def check_report(folder: Path) -> None:
    run = the_run(folder)
    with Store.open(run) as store:
        record = store.load()
    assert (record.complete, record.conditions["stopped"]) == (False, "on request")
    assert record.trials
    assert (run / "report.html").is_file()
    assert left_in(folder) == []


def test_a_server_whose_terminal_is_closed_ends_in_order(tmp_path: Path) -> None:
    port = free_port()
    command = siar("serve", "--host", "127.0.0.1", "--port", str(port), "--no-qr", "--lang", "en")
    with in_terminal(command, cwd=tmp_path, env=environment_of()) as terminal:
        terminal.wait_for("Ctrl-C ends it.")
        with following(port, ("sse", "socketio")):
            terminal.close()
            assert terminal.process.wait(PATIENCE_S) == 0

    assert left_in(tmp_path) == []
    assert not (tmp_path / "runs" / ".server.json").exists(), "the master did not come to its end"


@pytest.mark.parametrize("green_threads", WORKERS)
def test_a_server_ends_at_once_while_its_worker_starts(tmp_path: Path, green_threads: str) -> None:
    with running_server(tmp_path, green_threads=green_threads) as server:
        old = worker_of(server)
        old.kill()
        wait_for(lambda: has_worker_beside(server, old), server.log)
        server.process.terminate()
        assert server.process.wait(DRAIN_S / 2) == 0


def has_worker_beside(server: RunningServer, old: psutil.Process) -> bool:
    try:
        return worker_of(server) != old
    except AssertionError:
        return False


@pytest.mark.parametrize("green_threads", WORKERS)
def test_a_server_that_was_started_by_nohup_knows_no_hang_up(tmp_path: Path, green_threads: str) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # Children inherit it.
    try:
        with running_server(tmp_path, green_threads=green_threads, log_level="info") as server:
            worker, first = worker_of(server).pid, epoch(server)
            os.killpg(server.process.pid, signal.SIGHUP)
            wait_for(lambda: "A hang-up is ignored" in server.log(), server.log)
            assert (worker_of(server).pid, epoch(server)) == (worker, first)
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("green_threads", WORKERS)
def test_a_hang_up_of_the_group_without_a_terminal_is_a_reload_in_order(
    tmp_path: Path, green_threads: str
) -> None:
    with running_server(tmp_path, green_threads=green_threads, broker="sqlite:///history.db") as server:
        worker, first = worker_of(server), epoch(server)
        follower = Follower(server.port, "sse")
        follower.start()
        wait_for(lambda: follower.connections == 1, server.log)
        os.killpg(server.process.pid, signal.SIGHUP)
        wait_for(lambda: not worker.is_running(), server.log)
        wait_for(lambda: follower.connections == 2, server.log)
        assert epoch(server) == first
        follower.leaves.set()

    assert "was sent SIG" not in server.log()
    assert follower.gaps == []


@pytest.mark.parametrize("command", MEASURING)
def test_a_run_whose_terminal_is_closed_is_written_with_its_report(tmp_path: Path, command: str) -> None:
    with in_terminal(siar(*MEASURING[command]), cwd=tmp_path, env=environment_of()) as terminal:
        wait_for(lambda: has_begun(tmp_path), lambda: terminal.text, times=4)
        terminal.close()
        terminal.process.wait(PATIENCE_S)

        check_report(tmp_path)


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM, signal.SIGINT], ids=lambda each: each.name)
@pytest.mark.parametrize("command", ["run", "load"])
def test_a_run_that_a_signal_to_its_group_ends_is_written_with_its_report(
    tmp_path: Path, command: str, number: signal.Signals
) -> None:
    with running(tmp_path, *MEASURING[command]) as process:
        wait_for(lambda: has_begun(tmp_path), process.poll, times=4)
        for _ in range(2):  # A shell and the kernel each send one.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, number)
        assert process.wait(PATIENCE_S) == 130

        check_report(tmp_path)


def test_a_run_that_was_started_by_nohup_goes_on_after_a_hang_up(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with running(tmp_path, *MEASURING["run"], "--json", "out.json") as process:
            wait_for(lambda: has_begun(tmp_path), process.poll, times=4)
            os.killpg(process.pid, signal.SIGHUP)
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(1)
            process.terminate()
            assert process.wait(PATIENCE_S) == 130
            check_report(tmp_path)
    finally:
        signal.signal(signal.SIGHUP, before)
    assert json.loads((tmp_path / "out.json").read_text())["run"]["complete"] is False


def test_a_run_with_phones_whose_terminal_is_closed_is_written_with_its_report(tmp_path: Path) -> None:
    port = free_port()
    flags = ("--host", "127.0.0.1", "--port", str(port), "--lang", "en", "--no-qr", "--no-check")
    plan = ("--phones", "1", "--clients", "1", "--blocks", "50", "--notifications", "10", "--rate", "50")
    with in_terminal(siar("run", *flags, *plan), cwd=tmp_path, env=environment_of()) as terminal:
        terminal.wait_for("Waiting for phones")
        server = api.find_server(f"http://127.0.0.1:{port}", admin_token="")
        with phones(server, ["Red Gecko"]) as joined:
            wait_for(lambda: len(joined[0].trials_done) >= 2, lambda: terminal.text, times=4)
            terminal.close()
            terminal.process.wait(PATIENCE_S)

    check_report(tmp_path)


@contextlib.contextmanager
def running(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    with (folder / "out.txt").open("wb") as out:
        process = subprocess.Popen(
            siar(*arguments),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            cwd=folder,
            env=environment_of(),
            start_new_session=True,
        )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def half_a_request(port: int) -> socket.socket:
    opened = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
    opened.sendall(b"POST /api/notifications HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
    return opened


def asked(port: int, path: str) -> int | None:
    """The status; `None` where nobody listens. Raises `TimeoutError` where somebody listens and does not answer."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=3) as opened:
            opened.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
            answer = opened.recv(4096)
            return int(answer.split()[1]) if answer else None
    except (ConnectionRefusedError, ConnectionResetError):
        return None


def refuses(port: int) -> bool:
    """True if nobody listens: a connection in the queue of one that accepts no more would hang until it is reset."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=3).close()
    except ConnectionRefusedError:
        return True
    except OSError:
        return False
    return False


@pytest.mark.parametrize("green_threads", WORKERS)
def test_a_server_that_waits_for_half_a_request_lets_nobody_else_wait(
    tmp_path: Path, green_threads: str
) -> None:
    with running_server(tmp_path, green_threads=green_threads, recorder=0) as server:
        with half_a_request(server.port):
            time.sleep(0.2)  # The worker has accepted it and read its half.
            server.process.terminate()
            wait_for(lambda: refuses(server.port), server.log)
            assert server.process.poll() is None, "it did not wait for the request, so the test shows nothing"
        assert server.process.wait(PATIENCE_S) == 0


@pytest.mark.parametrize("green_threads", WORKERS)
def test_a_balancer_is_told_for_the_set_time_before_the_server_ends(
    tmp_path: Path, green_threads: str
) -> None:
    with running_server(tmp_path, green_threads=green_threads, recorder=0, drain_delay_s=600) as server:
        assert asked(server.port, "/readyz") == 200
        follower = Follower(server.port, "sse")
        follower.start()
        wait_for(lambda: follower.connections == 1, server.log)
        server.process.terminate()
        wait_for(lambda: asked(server.port, "/readyz") == 503, server.log)
        assert asked(server.port, "/healthz") == 200
        server.publish("still here", "")
        wait_for(lambda: follower.titles == ["still here"], server.log)
        follower.leaves.set()
        server.process.terminate()  # A second one ends the wait.
        assert server.process.wait(PATIENCE_S) == 0


def test_the_time_for_balancers_ends_by_itself_and_is_none_for_ctrl_c(tmp_path: Path) -> None:
    ends: list[Callable[[RunningServer], None]] = [
        lambda server: server.process.terminate(),
        lambda server: server.process.send_signal(signal.SIGINT),
    ]
    for number, end in enumerate(ends):
        folder = tmp_path / str(number)
        folder.mkdir()
        delay_s = 1 if number == 0 else 600
        with running_server(folder, recorder=0, drain_delay_s=delay_s, log_level="info") as server:
            end(server)
            assert server.process.wait(PATIENCE_S) == 0
        assert ("/readyz answers 503" in server.log()) is (number == 0)
