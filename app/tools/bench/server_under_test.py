"""A server under test: the floor, or ours with one of its fan-out paths; on a core of its own if there are two."""

from __future__ import annotations

import contextlib
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from app.core.errors import Unfit
from app.lab.run import processes, server_process
from app.settings import Settings
from app.tools.bench.machine import Cores
from app.tools.bench.own_redis import RedisHere
from app.tools.bench.plan import DIRECT, FLOOR, SEND, STOCK

START_TIMEOUT_S = 10.0

_WSGI_APP = "app.tools.bench.inside:app"


@dataclass(frozen=True, slots=True)
class ServerUnderTest:
    """A running server."""

    name: str
    host: str
    port: int
    token: str
    pid: int
    path: str
    """The expected fan-out path of its connections."""
    processes: int = 1
    """Number of accepting processes behind the port."""
    redis_pid: int | None = None
    """Process of the Redis that it uses."""

    @property
    def merges(self) -> bool:
        """True if one write may contain several notifications."""
        return self.path == DIRECT


@contextlib.contextmanager
def running(name: str, cores: Cores, settings: Mapping[str, str]) -> Iterator[ServerUnderTest]:
    """Run a fresh server for the block. `settings`: additional `SIAR_*` settings of ours; the floor has none.

    Raises `Unfit` if it does not start.
    """
    if name == SEND:
        chosen = _ours(name, DIRECT, cores, {"SIAR_IO_URING": "0", **settings})
    else:
        chosen = _floor(cores) if name == FLOOR else _ours(name, name, cores, settings)
    with chosen as server:
        yield server


@contextlib.contextmanager
def several(name: str, count: int, cores: Cores, redis: RedisHere | None) -> Iterator[ServerUnderTest]:
    """Run `count` processes of ours behind one port, with a history of their own in `redis`; without it, one in memory.

    Raises `Unfit` if they do not start.
    """
    assert count == 1 or redis is not None
    settings = {"SIAR_WORKERS": str(count), "SIAR_BROKER": "memory://" if redis is None else redis.url(name)}
    with _ours(name, DIRECT, cores, settings) as server:
        yield replace(server, processes=count, redis_pid=None if redis is None else redis.pid)


@contextlib.contextmanager
def _ours(name: str, path: str, cores: Cores, settings: Mapping[str, str]) -> Iterator[ServerUnderTest]:
    assert path in (STOCK, DIRECT)
    with tempfile.TemporaryDirectory() as folder:
        with cores.on_server_core():
            started = server_process.start(
                runs_dir=Path(folder),
                settings={"SIAR_FANOUT": path, "SIAR_RECORDER": "0", **settings},
                app=_WSGI_APP,
            )
        with started:
            server = started.server
            port = urlsplit(server.url).port or 0
            yield ServerUnderTest(name, server.host, port, server.admin_token, started.process.pid, path)


@contextlib.contextmanager
def _floor(cores: Cores) -> Iterator[ServerUnderTest]:
    bytes_of_ours = str(Settings().send_buffer_bytes)
    with cores.on_server_core():
        process = processes.spawn(
            processes.python_module("app.tools.bench.floor", "--send-buffer-bytes", bytes_of_ours),
            env=processes.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
    assert process.stdin is not None
    assert process.stdout is not None
    guard = threading.Timer(START_TIMEOUT_S, process.kill)
    guard.start()
    try:
        line = process.stdout.readline()
        guard.cancel()
        if not line:
            raise Unfit("The floor's process did not start.")
        yield ServerUnderTest(FLOOR, "127.0.0.1", int(line), "", process.pid, FLOOR)
    finally:
        guard.cancel()
        processes.stop(process, patience_s=0.5)
        process.stdin.close()
        process.stdout.close()
