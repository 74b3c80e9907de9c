"""A real server for a test: gunicorn with our worker, on a free port, with a folder of its own."""

from __future__ import annotations

import contextlib
import functools
import http.client
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from tests.support.orphans import end_with_us
from tests.support.patience import PATIENCE_S

ROOT = Path(__file__).parents[2]

ADMIN_TOKEN = "test-operator-token"


@dataclass(slots=True)
class RunningServer:
    """A server that answers `/readyz`."""

    url: str
    port: int
    admin_token: str
    runs_dir: Path
    run: str
    clock_port: int | None
    process: subprocess.Popen[bytes]
    log_path: Path

    def log(self) -> str:
        """Return its output so far."""
        return self.log_path.read_text(encoding="utf-8")

    def publish(self, title: str = "Hello", body: str = "world", **members: Any) -> dict[str, Any]:
        """Publish as the operator, and return the answer."""
        status, answer = self.request("POST", "/api/notifications", {"title": title, "body": body, **members})
        assert status in (200, 201), answer
        return answer

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        token: str | None = None,
        headers: dict[str, str] | None = None,
        raw: bytes | None = None,
        source: str | None = None,
    ) -> tuple[int, Any]:
        """Send one HTTP request. Returns status and decoded JSON (or text).

        `source`: a loopback address to send from, so as to be another client (Linux has all of 127.0.0.0/8).
        """
        data = raw if raw is not None else None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=data, method=method)
        request.add_header("Authorization", f"Bearer {self.admin_token if token is None else token}")
        if data is not None:
            request.add_header("Content-Type", "application/json")
        for name, value in (headers or {}).items():
            request.add_header(name, value)
        try:
            with _opener(source).open(request, timeout=PATIENCE_S) as response:
                return response.status, _decoded(response)
        except urllib.error.HTTPError as error:
            return error.code, _decoded(error)


def _opener(source: str | None) -> urllib.request.OpenerDirector:
    if source is None:
        return urllib.request.build_opener()
    address = (source, 0)

    class From(urllib.request.HTTPHandler):
        def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
            connection = functools.partial(http.client.HTTPConnection, source_address=address)
            return self.do_open(connection, req)

    return urllib.request.build_opener(From)


def _decoded(response: Any) -> Any:
    text = response.read().decode()
    return json.loads(text) if "json" in response.headers.get("Content-Type", "") else text


FREE_PORTS = range(12_000, 32_768)
"""Range above ports that browsers refuse, and below those that Linux uses for outgoing connections
(`ip_local_port_range`).

A port of the latter range may be taken by a connection before the server binds it. And a client that keeps connecting
to a server that is down could connect to itself, by a simultaneous open (RFC 9293, section 3.5).
"""


def worker_of(server: RunningServer) -> psutil.Process:
    """Return the serving process: the master's child that listens on the service's port."""
    for process in psutil.Process(server.process.pid).children():
        with contextlib.suppress(psutil.Error):
            if any(each.laddr.port == server.port for each in process.net_connections("tcp")):
                return process
    raise AssertionError("no worker listens")


def free_port() -> int:
    """Return a port that was free a moment ago."""
    while True:
        port = secrets.choice(FREE_PORTS)
        with socket.socket() as sock, contextlib.suppress(OSError):
            sock.bind(("127.0.0.1", port))
            return port


ServerSettings = dict[str, Any]
"""Field names of app.settings.Settings with values of any type; `running_server` writes them to the environment as
text."""

GUNICORN = ("-m", "gunicorn", "-c", str(ROOT / "gunicorn.conf.py"), "wsgi:app")


@contextlib.contextmanager
def running_server(
    tmp_path: Path, *, command: Sequence[str] = GUNICORN, cwd: Path | None = None, **settings: Any
) -> Iterator[RunningServer]:
    """Run a server with `settings` (field names of app.settings.Settings) for the block."""
    port = settings.pop("port", None) or free_port()
    runs_dir = tmp_path / "runs"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SIAR_")}
    environment |= {
        "PYTHONPATH": str(ROOT),
        "SIAR_PORT": str(port),
        "SIAR_ADMIN_TOKEN": ADMIN_TOKEN,
        "SIAR_RUNS_DIR": str(runs_dir),
    }
    environment |= {f"SIAR_{name.upper()}": str(value) for name, value in settings.items()}
    log_path = tmp_path / f"server-{port}.log"
    # If the tests are killed, the pipe closes and ends a server under gunicorn; others are ended by the kernel.
    read_fd, write_fd = os.pipe()
    is_piped = "gunicorn" in command
    if is_piped:
        environment["SIAR_PARENT_PIPE_FD"] = str(read_fd)
    with log_path.open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-P", *command],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environment,
            cwd=cwd or tmp_path,
            start_new_session=True,
            pass_fds=[read_fd],
            preexec_fn=None if is_piped else end_with_us(),  # noqa: PLW1509 - two system calls, no lock, no import
        )
    os.close(read_fd)
    server = RunningServer(
        f"http://127.0.0.1:{port}",
        port,
        str(settings.get("admin_token", ADMIN_TOKEN)),
        runs_dir,
        "",
        None,
        process,
        log_path,
    )
    try:
        _wait_until_ready(server)
        _status, version = server.request("GET", "/version")
        server.run, server.clock_port = version["run"], version["clock_port"]
        yield server
    finally:
        stop(process)
        os.close(write_fd)


def stop(process: subprocess.Popen[bytes]) -> None:
    """Stop a server in order, or kill its process group if it does not stop."""
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
    try:
        process.wait(15)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _wait_until_ready(server: RunningServer) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline_s:
        if server.process.poll() is not None:
            raise AssertionError(f"the server ended with {server.process.returncode}:\n{server.log()}")
        with contextlib.suppress(OSError):
            if server.request("GET", "/readyz")[0] == 200:
                return
        time.sleep(0.05)
    raise AssertionError(f"the server did not get ready:\n{server.log()}")
