"""The generator of `./siar load`: Locust as a library, told by JSON lines what to do: `python -P -m loadtests.generator`.

Commands come on standard input, answers go to standard output; it ends with its input. While a trial runs nothing is
written but the one line that says that it is complete.

    {"do": "connect", "transport", "url", "clients": [...], "topics": [...], "fanout", "spawn_rate", "timeout_s"}
                                      {"is": "ready", "connected", "attempts", "failures", "connect_us"}: all are in,
                                      or the time is over
    {"do": "expect", "run", "trial", "count"[, "first_offset"]}      {"is": "complete"}, once everyone connected has all
    {"do": "collect"}                 {"is": "collected", columns of `recording.py`, "expected", "connected", "lag_ms_p99",
                                      "cpu_s", "disconnects", "broken_before", "malformed", "attempts",
                                      "failures", "connect_us"}
    {"do": "disconnect"}              {"is": "disconnected"}

More processes than one are so many of these, each with its share of the users: columns put together lose nothing.
"""

from __future__ import annotations

import contextlib
import gc
import json
import logging
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import gevent
from gevent.fileobject import FileObjectPosix
from locust import events
from locust.env import Environment

from loadtests.lag import LagProbe
from loadtests.session import Expectation, Session
from loadtests.stamps import keep_stamping, kernel_offset_ns
from loadtests.users import USERS, PushUser

KERNEL_CLOCK_PERIOD_S = 1.0
"""How often the offset between CLOCK_REALTIME, which stamps in the kernel, and CLOCK_MONOTONIC is read again."""


class Generator:
    """Takes commands and gives answers."""

    def __init__(self, write: Callable[[dict[str, Any]], None]) -> None:
        self._write = write
        self.session = Session(on_complete=lambda: write({"is": "complete"}))
        PushUser.session = self.session
        self._runner = Environment(user_classes=list(USERS.values()), events=events).create_local_runner()
        self._lag = LagProbe()
        self._expected = 0
        self._cpu_start_ns = 0
        self._deadline: Any = None
        gevent.spawn(self._read_kernel_clock)

    def command(self, line: bytes) -> None:
        """Carry out one command. A malformed one is a bug of the caller's and ends the process."""
        command = json.loads(line)
        getattr(self, f"do_{command.pop('do')}")(**command)

    def do_connect(
        self,
        transport: str,
        url: str,
        clients: Sequence[int],
        topics: Sequence[str],
        fanout: str | None,
        spawn_rate: float,
        timeout_s: float,
    ) -> None:
        """Let Locust start one user for each client."""
        self._stop_users()
        self.session.begin(url, list(clients), topics=tuple(topics), fanout=fanout)
        if not clients:
            self._settle()
            return
        self.session.on_settled = self._settle
        self._deadline = gevent.spawn_later(timeout_s, self._settle)
        self._runner.start(len(clients), spawn_rate, user_classes=[USERS[transport]])

    def do_expect(self, run: str | None, trial: int, count: int, first_offset: int = 0) -> None:
        """A trial is about to begin."""
        gc.collect()
        gc.disable()  # A collection would hold the loop for milliseconds; a trial's objects are few.
        self._expected = self.session.expect(Expectation(run, trial, count, first_offset))
        self._lag.begin()
        self._cpu_start_ns = time.process_time_ns()

    def do_collect(self) -> None:
        """The trial is over: hand over what arrived."""
        cpu_s = (time.process_time_ns() - self._cpu_start_ns) / 1e9
        lag_ms = self._lag.ms_p99()
        gc.enable()
        self._write(
            {
                "is": "collected",
                **self.session.recording.columns(),
                "expected": self._expected,
                "connected": self.session.connected,
                "lag_ms_p99": lag_ms,
                "cpu_s": cpu_s,
                "disconnects": self.session.disconnects,
                "broken_before": self.session.broken_before,
                "malformed": self.session.malformed,
                **self._handshakes(),
            }
        )

    def do_disconnect(self) -> None:
        """Let the users go."""
        self._stop_users()
        self._write({"is": "disconnected"})

    def _stop_users(self) -> None:
        if self._runner.state not in ("ready", "stopped"):
            self._runner.stop()
        self.session.members = []

    def _settle(self) -> None:
        """All are in, or it was waited long enough; said once."""
        self.session.on_settled = lambda: None
        if self._deadline is not None and self._deadline is not gevent.getcurrent():
            self._deadline.kill(block=False)
        self._deadline = None
        self._write({"is": "ready", "connected": self.session.connected, **self._handshakes()})

    def _handshakes(self) -> dict[str, Any]:
        session = self.session
        return {
            "attempts": session.attempts,
            "failures": dict(session.failures),
            "connect_us": session.connect_us,
        }

    def _read_kernel_clock(self) -> None:
        while True:
            self.session.kernel_offset_ns = kernel_offset_ns()
            gevent.sleep(KERNEL_CLOCK_PERIOD_S)


def raise_open_files() -> None:
    """A socket for each user: as many descriptors as this user may have."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def main() -> None:
    """Serve commands until the input ends."""
    raise_open_files()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the runner's to handle.
    logging.getLogger("locust").setLevel(logging.ERROR)
    stamping = keep_stamping()
    output = sys.stdout.fileno()

    def write(answer: dict[str, Any]) -> None:
        data = json.dumps(answer, separators=(",", ":")).encode() + b"\n"
        while data:
            data = data[os.write(output, data) :]

    generator = Generator(write)
    with FileObjectPosix(sys.stdin.fileno(), "rb", close=False) as commands:
        for line in commands:
            generator.command(line)
    stamping.close()
    os._exit(0)  # Thousands of greenlets need not be unwound one by one.


if __name__ == "__main__":
    main()
