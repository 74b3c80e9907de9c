"""A Redis for one run: on a free port of loopback, without persistence, stopped after the run."""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from app import clock
from app.core.errors import Unfit
from app.lab.run import processes
from app.tools.bench.machine import Cores

PROGRAMS = ("redis-server", "valkey-server")

START_TIMEOUT_S = 15.0
STOP_PATIENCE_S = 2.0
_POLL_S = 0.02
_PORT_TRIES_MAX = 5
"""Another program may take the free port before Redis binds it."""


@dataclass(frozen=True, slots=True)
class RedisHere:
    """A running Redis."""

    port: int
    pid: int

    def url(self, name: str) -> str:
        """Return the broker URL of one server; each has a history of its own."""
        return f"redis://127.0.0.1:{self.port}?prefix=siar-{name}"


@contextlib.contextmanager
def own_redis(cores: Cores) -> Iterator[RedisHere]:
    """Run a Redis for the block. Raises `Unfit` if none is installed, or it does not start."""
    program = next((found for name in PROGRAMS if (found := shutil.which(name))), None)
    if program is None:
        raise Unfit(
            f"This experiment needs {' or '.join(PROGRAMS)} on the PATH, to compare with and without it: install "
            "Redis 6.2 or newer, or Valkey."
        )
    with tempfile.TemporaryDirectory(prefix="siar-redis-") as folder:
        process, port = _started(program, Path(folder), cores)
        try:
            yield RedisHere(port, process.pid)
        finally:
            processes.stop(process, patience_s=STOP_PATIENCE_S)


def _started(program: str, folder: Path, cores: Cores) -> tuple[subprocess.Popen[bytes], int]:
    log = folder / "redis.log"
    for _ in range(_PORT_TRIES_MAX):
        port = _free_port()
        command = [program, "--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder)]
        command += ["--save", "", "--appendonly", "no", "--logfile", str(log)]
        with cores.on_server_core():
            process = processes.spawn(command, env=processes.environment())
        try:
            if _answers_in_time(process, port):
                return process, port
        except BaseException:
            processes.stop(process, patience_s=STOP_PATIENCE_S)
            raise
        processes.stop(process, patience_s=STOP_PATIENCE_S)
    log_end = log.read_text(errors="replace")[-1000:] if log.is_file() else ""
    raise Unfit(f"{Path(program).name} did not start. The end of its log:\n{log_end or '(empty)'}")


def _answers_in_time(process: subprocess.Popen[bytes], port: int) -> bool:
    until_us = clock.monotonic_us() + round(START_TIMEOUT_S * 1e6)
    while process.poll() is None and clock.monotonic_us() < until_us:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1) as sock:
            sock.sendall(b"PING\r\n")
            if sock.recv(16).startswith(b"+PONG"):
                # The answer may be from another Redis on that port; then ours has ended, or is about to.
                return process.poll() is None
        time.sleep(_POLL_S)
    return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
