"""The subscribers of a server: one or several swarm processes behind one interface."""

from __future__ import annotations

import contextlib
import json
import subprocess
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from app.core.errors import Unfit
from app.lab.run import processes
from app.tools.bench.record import WindowResult

HANDSHAKES = 256
"""Concurrent handshakes: enough to keep a server busy, and less than any backlog."""

PATIENCE_S = 30.0
"""Time after a command's own timeout before a swarm counts as stuck."""

END_US_PER_READ = 2.0
"""Time for a swarm at a window's end per read: several times what it needs alone, because swarms share a core."""


@dataclass(frozen=True, slots=True)
class Member:
    """Parameters of one swarm process."""

    transport: str
    source_host: str | None = None
    """Loopback address of its own, because ports are counted per address."""


class SwarmProcess:
    """One swarm process and the pipes to it."""

    def __init__(self, member: Member) -> None:
        self.member = member
        self._process = processes.spawn(
            processes.python_module("app.tools.bench.swarm_process"),
            env=processes.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def tell(self, do: str, **command: object) -> None:
        """Send a command."""
        assert self._process.stdin is not None
        line = json.dumps({"do": do, **command}) + "\n"
        try:
            self._process.stdin.write(line.encode())
            self._process.stdin.flush()
        except OSError as error:
            raise Unfit(f"A swarm process has ended: {error}.") from error

    def answer(self, *, timeout_s: float) -> dict[str, Any]:
        """Return its answer. A process that takes too long is killed, which ends the wait."""
        assert self._process.stdout is not None
        guard = threading.Timer(timeout_s, self._process.kill)
        guard.start()
        try:
            line = self._process.stdout.readline()
        finally:
            guard.cancel()
        if not line:
            raise Unfit("A swarm process ended, or did not answer in time.")
        received: dict[str, Any] = json.loads(line)
        return received

    def stop(self) -> None:
        """End the process; its connections close with it."""
        processes.stop(self._process, patience_s=0.5)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()


class SubscriberPool:
    """All subscribers of one server."""

    def __init__(self, swarms: Sequence[SwarmProcess], host: str, port: int) -> None:
        self._swarms = swarms
        self._host = host
        self._port = port
        self.count = 0

    def grow(self, count: int, *, timeout_s: float = 60.0, at_a_time: int = HANDSHAKES) -> tuple[int, int]:
        """Connect up to `count` subscribers.

        Returns how many were added, and in how many microseconds. Raises `Unfit`.
        """
        shares = _shares(count, len(self._swarms))
        for swarm, share in zip(self._swarms, shares, strict=True):
            swarm.tell(
                "connect",
                count=share,
                transport=swarm.member.transport,
                host=self._host,
                port=self._port,
                source_host=swarm.member.source_host,
                at_a_time=at_a_time,
                timeout_s=timeout_s,
            )
        answers = self._answers(timeout_s)
        connected = sum(answer["connected"] for answer in answers)
        if connected < count:
            failures = [each for answer in answers for each in answer["failures"]]
            why = failures[0] if failures else f"no more within {timeout_s:g} s"
            raise Unfit(f"Only {connected} of {count} subscribers could connect: {why}.")
        self.count = count
        return sum(answer["added"] for answer in answers), max(answer["wall_us"] for answer in answers)

    def shrink(self, count: int) -> None:
        """Disconnect the newest, down to `count`."""
        for swarm, share in zip(self._swarms, _shares(count, len(self._swarms)), strict=True):
            swarm.tell("close", count=share)
        self._answers(PATIENCE_S)
        self.count = count

    def resize(self, count: int) -> None:
        """Have exactly `count` subscribers."""
        if count > self.count:
            self.grow(count)
        elif count < self.count:
            self.shrink(count)

    def begin(self, offset: int) -> int:
        """Begin a window. Returns how many subscribers are not at `offset`."""
        return sum(int(answer["behind"]) for answer in self._ask("begin", offset=offset))

    def wait_for(self, offset: int, *, timeout_s: float) -> bool:
        """Return whether all received `offset` within the time."""
        return all(answer["complete"] for answer in self._ask("await", offset=offset, timeout_s=timeout_s))

    def wait_for_idle_traffic(self, *, timeout_s: float) -> tuple[int, int]:
        """Wait for a heartbeat or ping per connection. Returns how many came, and how many connections broke."""
        for swarm, share in zip(self._swarms, _shares(self.count, len(self._swarms)), strict=True):
            swarm.tell("idle", count=share, timeout_s=timeout_s)
        answers = self._answers(timeout_s)
        return sum(answer["idle"] for answer in answers), sum(answer["disconnects"] for answer in answers)

    def end(self, *, offset: int, starts_us: Sequence[int], merges: bool) -> WindowResult:
        """End the window and return its result.

        `offset`: the last one; `starts_us`: when each publish began; `merges`: whether one write of the server may
        contain several notifications.
        """
        result = WindowResult()
        first = offset - len(starts_us) + 1
        for swarm in self._swarms:
            swarm.tell("end", offset=offset, first=first, starts_us=list(starts_us), merges=merges)
        for answer in self._answers(self.count * len(starts_us) * END_US_PER_READ / 1e6):
            result.add(answer)
        return result

    def _ask(self, do: str, **command: Any) -> list[dict[str, Any]]:
        for swarm in self._swarms:
            swarm.tell(do, **command)
        return self._answers(float(command.get("timeout_s", 0.0)))

    def _answers(self, timeout_s: float) -> list[dict[str, Any]]:
        return [swarm.answer(timeout_s=timeout_s + PATIENCE_S) for swarm in self._swarms]


@contextlib.contextmanager
def subscriber_pool(members: Sequence[Member], host: str, port: int) -> Iterator[SubscriberPool]:
    """Run swarm processes for the block."""
    swarms: list[SwarmProcess] = []
    try:
        swarms.extend(
            SwarmProcess(member) for member in members
        )  # If one fails, the others are still stopped.
        yield SubscriberPool(swarms, host, port)
    finally:
        for swarm in swarms:
            swarm.stop()


def _shares(count: int, among: int) -> list[int]:
    """Divide `count` as evenly as possible."""
    return [count // among + (index < count % among) for index in range(among)]
