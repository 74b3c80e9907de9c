"""A real Redis for a test, on a free port; every write is on disk before it is acknowledged."""

from __future__ import annotations

import atexit
import contextlib
import functools
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from app.lab.run import processes
from tests.components import require_tool
from tests.support.patience import PATIENCE_S
from tests.support.server import free_port


class RedisServer:
    """A Redis that can be killed, stopped, and restarted from its append-only file."""

    def __init__(
        self, folder: Path, *arguments: str, host: str = "127.0.0.1", into: Sequence[str] = ()
    ) -> None:
        """`into`: a command prefix that runs it elsewhere, such as in a network namespace."""
        self._program = str(require_tool("redis-server", "redis-server"))
        self._folder = folder
        self._arguments = arguments
        self._into = into
        self.host = host
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def url(self) -> str:
        """The broker URL."""
        return f"redis://{self.host}:{self.port}"

    def start(self) -> None:
        """Start from existing data, and wait until it answers."""
        self._folder.mkdir(parents=True, exist_ok=True)
        with (self._folder / "redis.log").open("ab") as log:
            self.process = processes.spawn(
                [*self._into, *self.command_line()], env=processes.environment(), stdout=log, stderr=log
            )
        deadline_s = time.monotonic() + PATIENCE_S
        while not self._answers():
            assert self.process.poll() is None, self.log()
            assert time.monotonic() < deadline_s, self.log()
            time.sleep(0.02)

    def command_line(self) -> list[str]:
        """Return the command that starts it."""
        command = [self._program, "--port", str(self.port), "--bind", self.host, "--dir", str(self._folder)]
        command += ["--appendonly", "yes", "--appendfsync", "always", "--save", "", "--protected-mode", "no"]
        return [*command, *self._arguments]

    def kill(self) -> None:
        """Kill it with SIGKILL, as the kernel does when memory is short."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Stop it in order."""
        self._end(signal.SIGTERM)

    def remember(self) -> None:
        """Back up the current append-only file."""
        shutil.copytree(self._folder / "appendonlydir", self._folder / "remembered")

    def forget_since(self) -> None:
        """Restore the backup, while it is down, as a failover to a lagging replica does."""
        shutil.rmtree(self._folder / "appendonlydir")
        shutil.move(self._folder / "remembered", self._folder / "appendonlydir")

    def command(self, *words: str) -> str:
        """Return the raw answer to a command."""
        with socket.create_connection((self.host, self.port), timeout=5) as sock:
            sock.sendall(b"*%d\r\n" % len(words))
            for word in words:
                sock.sendall(b"$%d\r\n%s\r\n" % (len(word.encode()), word.encode()))
            return sock.recv(65_536).decode()

    def log(self) -> str:
        """Return its log."""
        return (self._folder / "redis.log").read_text(errors="replace")

    def _answers(self) -> bool:
        with contextlib.suppress(OSError):
            return self.command("PING").startswith("+PONG")
        return False

    def _end(self, number: signal.Signals) -> None:
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                self.process.send_signal(number)
            self.process.wait(PATIENCE_S)
            self.process = None


@contextlib.contextmanager
def redis_server(folder: Path, *arguments: str) -> Iterator[RedisServer]:
    """Run a Redis for the block."""
    server = RedisServer(folder, *arguments)
    try:
        yield server
    finally:
        server.kill()


@functools.cache
def shared_redis() -> RedisServer:
    """Return one Redis for all tests of this process, which use different prefixes; it does not write to disk."""
    with contextlib.ExitStack() as kept:  # Cleans up if Redis is not installed.
        folder = kept.enter_context(tempfile.TemporaryDirectory(prefix="siar-redis-"))
        server = RedisServer(Path(folder), "--appendonly", "no")
        kept.callback(server.kill)
        atexit.register(kept.pop_all().close)
    return server
