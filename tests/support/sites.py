"""Two servers and Redis, each in its own network namespace, as on three machines.

this machine ====== one ------+
this machine ====== other ----+---- redis      (---- a cable that can be pulled and put back)
"""

from __future__ import annotations

import contextlib
import http.client
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from app.lab.run import processes
from tests.support.netns import Namespace, namespace
from tests.support.patience import PATIENCE_S
from tests.support.redis_server import RedisServer
from tests.support.server import ADMIN_TOKEN, GUNICORN, RunningServer, stop

PORT = 8080
"""Every namespace has all ports."""


@dataclass(slots=True)
class Site:
    """A server in its namespace."""

    name: str
    space: Namespace
    folder: Path
    broker: str
    link: str
    """Name of its end of the cable to Redis."""
    server: RunningServer = field(init=False)

    @property
    def host(self) -> str:
        """Its address, as seen from this machine."""
        return self.space.near.removesuffix(".1") + ".2"

    def start(self) -> None:
        """Start it and wait until it is ready."""
        self.folder.mkdir(exist_ok=True)
        settings = {
            "SIAR_HOST": "0.0.0.0",
            "SIAR_PORT": str(PORT),
            "SIAR_ADMIN_TOKEN": ADMIN_TOKEN,
            "SIAR_RUNS_DIR": str(self.folder / "runs"),
            "SIAR_RECORDER": "0",
            "SIAR_HEARTBEAT_S": "1",
            "SIAR_BROKER": self.broker,
        }
        log_path = self.folder / "server.log"
        with log_path.open("ab") as log:
            process = subprocess.Popen(
                [*_inside(self.space), sys.executable, "-P", *GUNICORN],
                env=processes.environment(**settings),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        url = f"http://{self.host}:{PORT}"
        self.server = RunningServer(url, PORT, ADMIN_TOKEN, self.folder / "runs", "", None, process, log_path)
        deadline_s = time.monotonic() + PATIENCE_S
        while not self._is_ready():
            assert process.poll() is None, self.server.log()
            assert time.monotonic() < deadline_s, self.server.log()
            time.sleep(0.05)

    def kill_9(self) -> None:
        """Kill master, worker and child processes at once."""
        os.killpg(self.server.process.pid, signal.SIGKILL)
        self.server.process.wait()

    def stop(self) -> None:
        """Stop it, whatever its state."""
        if self.server.process.poll() is None:
            stop(self.server.process)

    def cut(self) -> None:
        """Take the cable to Redis down; packets are lost without notice."""
        _ip("-n", self.space.name, "link", "set", self.link, "down")

    def mend(self) -> None:
        """Put the cable back."""
        _ip("-n", self.space.name, "link", "set", self.link, "up")

    def _is_ready(self) -> bool:
        with contextlib.suppress(OSError, http.client.HTTPException):
            return self.server.request("GET", "/readyz")[0] == 200
        return False


@dataclass(frozen=True, slots=True)
class Sites:
    """The two servers and Redis."""

    one: Site
    other: Site
    redis: RedisServer


class FarRedis(RedisServer):
    """A Redis in a namespace that this machine cannot reach; it is asked from inside."""

    def _answers(self) -> bool:
        code = f"import socket; s = socket.create_connection(('{self.host}', {self.port}), 2); s.sendall(b'PING\\r\\n'); print(s.recv(99))"
        done = subprocess.run([*self._into, sys.executable, "-c", code], capture_output=True, text=True)
        return "PONG" in done.stdout


@contextlib.contextmanager
def sites(folder: Path) -> Iterator[Sites]:
    """Create three namespaces with everything in them for the block."""
    with namespace() as redis_space, namespace() as one_space, namespace() as other_space:
        for number, space in enumerate((one_space, other_space), start=1):
            _join(redis_space, space, number)
        redis = FarRedis(folder / "redis", host="0.0.0.0", into=_inside(redis_space))
        made = [
            Site(name, space, folder / name, f"redis://10.199.{number}.1:{redis.port}", f"r{number}b")
            for number, (name, space) in enumerate((("one", one_space), ("other", other_space)), start=1)
        ]
        try:
            for site in made:
                site.start()
            yield Sites(made[0], made[1], redis)
        finally:
            for site in made:
                if hasattr(site, "server"):
                    site.stop()
            redis.kill()


def _join(redis: Namespace, space: Namespace, number: int) -> None:
    """Connect two namespaces, both of which belong to a test, so that its addresses collide with no others."""
    near, far = f"r{number}a", f"r{number}b"
    _ip("-n", redis.name, "link", "add", near, "type", "veth", "peer", "name", far, "netns", space.name)
    _ip("-n", redis.name, "addr", "add", f"10.199.{number}.1/30", "dev", near)
    _ip("-n", redis.name, "link", "set", near, "up")
    _ip("-n", space.name, "addr", "add", f"10.199.{number}.2/30", "dev", far)
    _ip("-n", space.name, "link", "set", far, "up")
    _ip("-n", space.name, "link", "set", "lo", "up")
    _ip("-n", redis.name, "link", "set", "lo", "up")


def _inside(space: Namespace) -> list[str]:
    return ["ip", "netns", "exec", space.name]


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)
