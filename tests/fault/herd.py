"""A herd: thousands of clients whose server is gone at once, and who all come back when another takes its place.

    python -m tests.fault.herd [--clients 5000] [--end kill|stop]

Each client does what the real ones do: an event stream waits as the server last told it (`retry:`, from its first block
on), the official Socket.IO client a second, give or take half of it at random, and twice as long after each try that
failed. While they are away notifications are published, which each of them must have afterwards, once and in order.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import itertools
import json
import os
import random
import resource
import signal
import socket
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil

from app.core.client import Subscription
from tests.support.server import RunningServer, free_port, running_server
from tests.support.subscriber import EVENT_PROTOCOLS, EventProtocol, Ledger, SseEvents
from tests.support.swarm import Swarm

RECONNECT_S = 1.0
RECONNECT_S_MAX = 5.0
RANDOM_SHARE = 0.5
"""socket.io-client's `reconnectionDelay`, `reconnectionDelayMax` and `randomizationFactor`."""

MISSED = 5
"""Published by the new server before most are back."""

TIMEOUT_S = 180.0
"""How long all of them may take; docs/faults.md promises it, and has what they took."""


@dataclass(frozen=True, slots=True)
class Figures:
    """What it took. Seconds are counted from when the new server let the first one in."""

    clients: int
    end: str
    back_s_p50: float
    back_s_p95: float
    back_s_max: float
    """Until the last one had all that it missed."""
    waits_ms: tuple[int, int, int]
    """That event streams were told: the shortest, the longest, and how many different ones there were."""
    tries: dict[str, int]
    """How connections went, the first ones included."""
    server_cpu_s: float
    """Without what a start takes by itself."""
    server_cpu_us_per_client: float
    faults: int
    """Clients that had something twice, not at all, or out of order. Must be 0."""
    gaps: int


class Member:
    """One client over all of its connections."""

    def __init__(self, herd: Herd, transport: str) -> None:
        self.ledger = Ledger()
        self.transport = transport
        self.is_live = False
        self.back_s: float | None = None
        self.told_ms: int | None = None
        """By the server, of an event stream: how long to wait."""
        self._herd = herd
        self._sock: socket.socket | None = None
        self._protocol: EventProtocol | None = None
        self._fails = 0

    def connect(self) -> None:
        """Begin to; the loop tells how it goes."""
        self._sock = sock = socket.socket()
        sock.setblocking(False)
        problem = sock.connect_ex(("127.0.0.1", self._herd.port))
        subscription = Subscription(f"http://127.0.0.1:{self._herd.port}", (), self.ledger.position)
        self._protocol = EVENT_PROTOCOLS[self.transport](subscription)
        self._protocol.outgoing += self._protocol.opening()
        self._herd.swarm.watch(sock, self, is_connecting=True)
        if problem not in (0, errno.EINPROGRESS):
            self.end("refused")

    def on_ready(self) -> None:
        """Connected, bytes, or the end."""
        assert self._sock is not None
        assert self._protocol is not None
        try:
            if self._send(self._sock, self._protocol):
                self._herd.swarm.listen(self._sock, wanted=True)
                return
            data = self._sock.recv(65_536)
            self._protocol.receive_data(data)
            self.ledger.take(self._protocol)
            if not data or self._protocol.ended:
                self.end("ended")
                return
            self._send(self._sock, self._protocol)
        except BlockingIOError:
            return
        except OSError:
            self.end("refused" if not self.is_live else "lost")
            return
        if not self.is_live and self.ledger.first is not None:
            self.is_live = True
            self._fails = 0
            self._herd.counts["connected"] += 1
            self._herd.first_back_s = self._herd.first_back_s or time.monotonic()
        if self.back_s is None and self.is_live and self.ledger.through >= self._herd.wanted_through:
            self.back_s = time.monotonic()
            self._herd.left_count -= 1

    @staticmethod
    def _send(sock: socket.socket, protocol: EventProtocol) -> bool:
        """Send what there is to send, and return whether there was any."""
        data = bytes(protocol.outgoing)
        protocol.outgoing.clear()
        sock.sendall(data)
        return bool(data)

    def end(self, how: str) -> None:
        """Come back after a while."""
        assert self._sock is not None
        self._herd.counts[how] += 1
        self._herd.swarm.forget(self._sock)
        if isinstance(self._protocol, SseEvents) and self._protocol.retry_ms is not None:
            self.told_ms = self._protocol.retry_ms
        self._sock.close()
        self._sock, self._protocol, self.is_live = None, None, False
        self._herd.swarm.after(self._wait_s(), self.connect)
        self._fails += 1

    def close(self) -> None:
        """Nobody comes back any more."""
        assert self._sock is not None
        self._herd.swarm.forget(self._sock)
        self._sock.close()

    def _wait_s(self) -> float:
        if self.transport == "sse":
            return RECONNECT_S if self.told_ms is None else self.told_ms / 1000
        wait_s = min(RECONNECT_S * 2**self._fails, RECONNECT_S_MAX)
        return wait_s * (1 + RANDOM_SHARE * self._herd.dice.uniform(-1, 1))


class Herd:
    """All of them."""

    def __init__(self, swarm: Swarm, port: int, count: int, *, seed: int = 1) -> None:
        self.swarm = swarm
        self.port = port
        self.dice = random.Random(seed)
        self.counts: Counter[str] = Counter()
        self.wanted_through = 0
        self.left_count = count
        self.first_back_s = 0.0
        """When the first one was let in since this was last set to 0."""
        transports = itertools.islice(itertools.cycle(EVENT_PROTOCOLS), count)
        self.members = [Member(self, transport) for transport in transports]

    def gather(self) -> None:
        """All of them, some hundred at a time. Raises `AssertionError` when it takes for ever."""
        for number, member in enumerate(self.members):
            member.connect()
            self._run_until(lambda: number - self.counts["connected"] <= 200)  # noqa: B023
        self.until_back(0)

    def until_back(self, through: int) -> None:
        """Until everyone has all up to that offset."""
        self.wanted_through = through
        self.left_count = len(self.members)
        for member in self.members:
            member.back_s = None
            if member.is_live and member.ledger.through >= through:
                member.back_s = time.monotonic()
                self.left_count -= 1
        self._run_until(lambda: not self.left_count)

    def _run_until(self, done: Callable[[], bool]) -> None:
        assert self.swarm.run(done, TIMEOUT_S), f"{self.left_count} are not back: {self.counts}"


def server_cpu_s(server: RunningServer) -> float:
    """Of master, worker and companions so far."""
    family = [
        psutil.Process(server.process.pid),
        *psutil.Process(server.process.pid).children(recursive=True),
    ]
    return sum(sum(each.cpu_times()[:2]) for each in family)


def revive(lives: contextlib.ExitStack, folder: Path, settings: dict[str, Any]) -> RunningServer:
    """The next server, and what it publishes before most are back."""
    server = lives.enter_context(running_server(folder, **settings))
    for number in range(MISSED):
        server.publish(f"missed {number}")
    return server


def stampede(folder: Path, count: int, end: str) -> Figures:
    """Connect them, end the server, start another on its history and its port, and wait for all."""
    settings: dict[str, Any] = {"broker": "sqlite:///history.db", "recorder": 0, "port": free_port()}
    with contextlib.ExitStack() as lives:
        first = lives.enter_context(running_server(folder, **settings))
        start_cpu_s = server_cpu_s(first)
        herd = Herd(lives.enter_context(Swarm()), first.port, count)
        herd.gather()
        first.publish("seen")
        herd.until_back(1)
        os.killpg(first.process.pid, signal.SIGKILL) if end == "kill" else first.process.terminate()
        first.process.wait(30)
        herd.first_back_s = 0.0
        reviving = lives.enter_context(ThreadPoolExecutor(1)).submit(revive, lives, folder, settings)
        herd.swarm.run(reviving.done, TIMEOUT_S)
        second = reviving.result()
        herd.until_back(1 + MISSED)
        cpu_s = server_cpu_s(second) - start_cpu_s
        waits_ms = [each.told_ms for each in herd.members if each.told_ms is not None]
        back_s = sorted((each.back_s or 0.0) - herd.first_back_s for each in herd.members)
        return Figures(
            clients=count,
            end=end,
            back_s_p50=round(statistics.median(back_s), 2),
            back_s_p95=round(back_s[int(0.95 * count)], 2),
            back_s_max=round(back_s[-1], 2),
            waits_ms=(min(waits_ms), max(waits_ms), len(set(waits_ms))),
            tries=dict(herd.counts),
            server_cpu_s=round(cpu_s, 2),
            server_cpu_us_per_client=round(cpu_s / count * 1e6),
            faults=sum(bool(each.ledger.faults()) for each in herd.members),
            gaps=sum(each.ledger.gap_count for each in herd.members),
        )


def room_for(count: int) -> bool:
    """Whether this process may have so many connections, and the server as many."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        soft = hard
    return soft == resource.RLIM_INFINITY or soft > count + 1000


def main() -> int:
    """As a command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--clients", type=int, default=5000)
    parser.add_argument("--end", choices=["kill", "stop"], default="kill")
    given = parser.parse_args()
    if not room_for(given.clients):
        print("Too few open files are allowed for that (ulimit -n).", file=sys.stderr)
        return 3
    with tempfile.TemporaryDirectory() as folder:
        figures = stampede(Path(folder), given.clients, given.end)
    print(json.dumps(asdict(figures), indent=2))
    return 0 if figures.faults == 0 and figures.gaps == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
