"""The server under test as a child process: on a free port, ready when returned, ended with its parent."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Self
from urllib.parse import urlsplit

import psutil

from app import clock
from app.core.errors import Unfit
from app.lab.run import api, processes
from app.lab.run.api import Server
from app.paths import ROOT

READY_TIMEOUT_S = 30.0
"""Time limit of a start; a cold start on a slow machine compiles every module first."""

_POLL_S = 0.02
_PORT_TRIES_MAX = 5
"""Attempts to find a port: another process may take it before the server binds it."""

_STOP_PATIENCE_S = 5.0
_FAILED_PATIENCE_S = 0.5
"""Time for SIGTERM of a server that never became ready, and has nothing to clean up."""

_LOG_TAIL_BYTES = 4_000

_HERE = {"0.0.0.0": "127.0.0.1"}
"""Address for requests by the address that the server listens on. All addresses include loopback, where no certificate has
to name the host."""

_PORT_TAKEN = ("address already in use", "connection in use")
"""Messages of Python and gunicorn. gunicorn would retry for five seconds; another port is faster."""


@dataclass(slots=True)
class ServerProcess:
    """Handle of a running server; as a context manager it ends the server."""

    server: Server
    process: subprocess.Popen[bytes] = field(repr=False)
    _log: IO[bytes] = field(repr=False)
    _parent_pipe_fd: int = field(repr=False)
    """Write end of a pipe that only this process holds; when it closes, the server reads an end of file."""

    def log_tail(self) -> str:
        """Return the last lines of the server's log."""
        return _tail(self._log)

    def stop(self) -> None:
        """End the server and its child processes. May be called twice."""
        processes.stop(self.process, patience_s=_STOP_PATIENCE_S)
        with contextlib.suppress(OSError):
            os.close(self._parent_pipe_fd)
        self._parent_pipe_fd = -1
        self._log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()


def start(
    *,
    runs_dir: Path,
    admin_token: str | None = None,
    settings: Mapping[str, str] | None = None,
    host: str = "127.0.0.1",
    port: int | None = None,
    app: str = "wsgi:app",
    timeout_s: float = READY_TIMEOUT_S,
    is_secure: bool = False,
    root: Path = ROOT,
) -> ServerProcess:
    """Start a server on `port`, or on a free port of `host`, and wait until it is ready.

    `settings` are more `SIAR_*` names with values; `app` is the WSGI application. Set `is_secure` if the settings name a
    certificate, so that the server uses HTTPS. `root` is the checkout whose server is started. Raises `Unfit` with the end of the server's log.
    """
    base = f"{'https' if is_secure else 'http'}://{_HERE.get(host, host)}"
    token = admin_token or secrets.token_urlsafe(24)
    for _ in range(_PORT_TRIES_MAX if port is None else 1):
        chosen = _free_port(host) if port is None else port
        started = _spawn(
            root,
            app,
            host,
            chosen,
            {"SIAR_RUNS_DIR": str(runs_dir.resolve()), "SIAR_ADMIN_TOKEN": token, **(settings or {})},
        )
        process, log, pipe_fd = started
        try:
            complaint = _wait_until_ready(process, log, f"{base}:{chosen}", timeout_s)
            if complaint is None:
                server = api.find_server(f"{base}:{chosen}", admin_token=token, pid=process.pid)
                return ServerProcess(server, process, log, pipe_fd)
            processes.stop(process, patience_s=_FAILED_PATIENCE_S)
            tail = _tail(log)
        except BaseException:
            processes.stop(process, patience_s=_STOP_PATIENCE_S)
            os.close(pipe_fd)
            log.close()
            raise
        os.close(pipe_fd)
        log.close()
        if not _says_port_taken(tail):
            raise Unfit(f"The server did not start: {complaint}. The end of its log:\n{tail or '(empty)'}")
    if port is not None:
        raise Unfit(f"Port {port} is taken; choose another with SIAR_PORT, or leave it out for any free one.")
    raise Unfit(f"Somebody else took the server's port {_PORT_TRIES_MAX} times in a row.")


def _spawn(
    root: Path, app: str, host: str, port: int, settings: Mapping[str, str]
) -> tuple[subprocess.Popen[bytes], IO[bytes], int]:
    """Start the process; return it, its log (an unnamed temporary file) and the write end of its pipe."""
    log = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the server
    read_fd, write_fd = os.pipe()
    changes = {**settings, "SIAR_HOST": host, "SIAR_PORT": str(port), "SIAR_PARENT_PIPE_FD": str(read_fd)}
    configuration = str(root / "gunicorn.conf.py")
    try:
        process = processes.spawn(
            processes.python_module("gunicorn", "-c", configuration, app),
            env=processes.environment(**changes),
            stdout=log,
            stderr=subprocess.STDOUT,
            pass_fds=[read_fd],
            death_signal=signal.SIGTERM,
        )
    except OSError:
        os.close(write_fd)
        log.close()
        raise
    finally:
        os.close(read_fd)
    return process, log, write_fd


def _wait_until_ready(
    process: subprocess.Popen[bytes], log: IO[bytes], url: str, timeout_s: float
) -> str | None:
    """Wait for status 200 of `/readyz`; return `None`, or else what is wrong."""
    deadline_us = clock.monotonic_us() + round(timeout_s * 1_000_000)
    status: int | None = None
    while clock.monotonic_us() < deadline_us:
        if process.poll() is not None:
            return f"it ended with code {process.returncode}"
        if _says_port_taken(_tail(log)):
            return "its port was taken"
        if _listens(process.pid, urlsplit(url).port):
            # The server may accept connections and not respond yet.
            with contextlib.suppress(OSError):
                status, _ = api.ask("GET", f"{url}/readyz", timeout_s=2.0)
                if status == 200:
                    return None
        time.sleep(_POLL_S)
    answer = "nothing answered" if status is None else f"GET /readyz answered {status}"
    return f"after {timeout_s:g} s {answer}"


def _listens(pid: int, port: int | None) -> bool:
    """Tell whether this very process listens on the port; another server there might respond instead."""
    try:
        connections = psutil.Process(pid).net_connections(kind="tcp")
    except psutil.Error:
        return False
    return any(each.status == psutil.CONN_LISTEN and each.laddr.port == port for each in connections)


def _says_port_taken(text: str) -> bool:
    return any(words in text.lower() for words in _PORT_TAKEN)


def _free_port(host: str) -> int:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def _tail(log: IO[bytes]) -> str:
    # The server appends through the same open file; `pread` does not move its position.
    size = os.fstat(log.fileno()).st_size
    return (
        os.pread(log.fileno(), _LOG_TAIL_BYTES, max(0, size - _LOG_TAIL_BYTES))
        .decode(errors="replace")
        .strip()
    )
