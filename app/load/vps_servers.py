"""What the VPS study's experiment runs on: a Redis of its own, and a server for each configuration.

Redis shares the server's core, as all of the study's did on one vCPU, and writes nothing to the disk: what is measured
is the way there and back. Everything ends with the run, and nothing of it is left.
"""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from app import clock
from app.bench.machine import Cores
from app.core.errors import Unfit
from app.experiment import processes, server_process
from app.experiment.api import Server, ask
from app.load.vps import CACHE_TTL_S, CACHED, MEMORY, REDIS

PROGRAMS = ("redis-server", "valkey-server")

START_TIMEOUT_S = 15.0
STOP_PATIENCE_S = 2.0
_POLL_S = 0.02
_PORT_TRIES_MAX = 5
"""Somebody else may take a free port between the look and Redis' own bind."""

HISTORY_COUNT = 100
HISTORY_BODY_CHARS = 300
"""What `GET /api/notifications` lists when nobody says how many: half a kilobyte each, as notifications of a trial."""


@dataclass(frozen=True, slots=True)
class RedisHere:
    """A Redis that answers."""

    port: int
    pid: int

    def url(self, name: str) -> str:
        """The broker of one server: each has a history of its own."""
        return f"redis://127.0.0.1:{self.port}?prefix=siar-{name}"


@contextlib.contextmanager
def own_redis(cores: Cores) -> Iterator[RedisHere]:
    """A Redis for one run. Raises `Unfit` where none is installed, or it does not start."""
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
    said = log.read_text(errors="replace")[-1000:] if log.is_file() else ""
    raise Unfit(f"{Path(program).name} did not start. The end of its log:\n{said or '(empty)'}")


def _answers_in_time(process: subprocess.Popen[bytes], port: int) -> bool:
    until_us = clock.monotonic_us() + round(START_TIMEOUT_S * 1e6)
    while process.poll() is None and clock.monotonic_us() < until_us:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1) as sock:
            sock.sendall(b"PING\r\n")
            if sock.recv(16).startswith(b"+PONG"):
                # Another one may have been there before: then ours has ended, or is about to.
                return process.poll() is None
        time.sleep(_POLL_S)
    return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def three_servers(
    redis: RedisHere, cores: Cores, *, runs_dir: Path, settings: Mapping[str, str]
) -> Iterator[dict[str, Server]]:
    """By configuration, as the arms name it: a server that is ready, all on one clock. Raises `Unfit`."""
    shared = {
        **settings,
        # One anchor for all, and the runner's: the stamps of one are the stamps of every other.
        "SIAR_ANCHOR_US": str(clock.anchor_us()),
        "SIAR_TIMEBASE": clock.timebase(),
        "SIAR_RECORDER": "0",
        "SIAR_WORKERS": "1",
        "SIAR_HISTORY_CACHE_TTL_S": "0",
    }
    own = {
        MEMORY: {"SIAR_BROKER": "memory://"},
        REDIS: {"SIAR_BROKER": redis.url("c2")},
        CACHED: {"SIAR_BROKER": redis.url("c3"), "SIAR_HISTORY_CACHE_TTL_S": str(CACHE_TTL_S)},
    }
    with contextlib.ExitStack() as stack:
        servers = {}
        for name, its_own in own.items():
            with cores.on_server_core():
                started = server_process.start(runs_dir=runs_dir, settings={**shared, **its_own})
            servers[name] = stack.enter_context(started).server
            _fill_history(servers[name])
        yield servers


def _fill_history(server: Server) -> None:
    """Something to ask for: trials leave the operator's history empty, and an empty list costs nothing to make."""
    for number in range(HISTORY_COUNT):
        body = {"title": f"Notification {number}", "body": "." * HISTORY_BODY_CHARS}
        try:
            status, _ = ask("POST", f"{server.url}/api/notifications", token=server.admin_token, body=body)
        except OSError as error:
            raise Unfit(f"The server at {server.url} no longer answers: {error}.") from error
        if status != 201:
            raise Unfit(f"The server at {server.url} refused a notification with {status}.")
