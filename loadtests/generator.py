"""Load generator of `./siar load`: Locust as a library, controlled by JSON lines: `python -P -m loadtests.generator`.

It reads commands from standard input, writes answers to standard output, and ends with its input. During a trial it
writes only the one line that reports its completion.

    {"do": "connect", "transport", "url", "clients": [...], "topics": [...], "fanout", "spawn_rate", "timeout_s"}
                                      {"is": "ready", "connected", "attempts", "failures", "connect_us"}: all users are
                                      accepted, or the time is over
    {"do": "expect", "run", "trial", "count"[, "first_offset"]}      {"is": "complete"}, once everyone connected has all
    {"do": "collect"}                 {"is": "collected", columns of `recording.py`, "expected", "connected", "lag_ms_p99",
                                      "cpu_s", "disconnects", "broken_before", "malformed", "attempts",
                                      "failures", "connect_us"}
    {"do": "disconnect"}              {"is": "disconnected"}

Several processes are several generators, each with a share of the users; their columns can be concatenated.
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
"""Interval at which the offset between CLOCK_REALTIME, the clock of kernel stamps, and CLOCK_MONOTONIC is read again."""


class Generator:
    """Executes commands and writes answers."""

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
        """Execute one command. A malformed one is a bug of the caller and ends the process."""
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
        """Let Locust start one user per client."""
        self._stop_users()
        self.session.begin(url, list(clients), topics=tuple(topics), fanout=fanout)
        if not clients:
            self._settle()
            return
        self.session.on_settled = self._settle
        self._deadline = gevent.spawn_later(timeout_s, self._settle)
        self._runner.start(len(clients), spawn_rate, user_classes=[USERS[transport]])

    def do_expect(self, run: str | None, trial: int, count: int, first_offset: int = 0) -> None:
        """Prepare for the arrivals of a trial."""
        gc.collect()
        gc.disable()  # A collection would block the event loop for milliseconds; a trial makes few objects.
        self._expected = self.session.expect(Expectation(run, trial, count, first_offset))
        self._lag.begin()
        self._cpu_start_ns = time.process_time_ns()

    def do_collect(self) -> None:
        """Write the arrivals and counters of the trial."""
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
        """Stop all users."""
        self._stop_users()
        self._write({"is": "disconnected"})

    def _stop_users(self) -> None:
        if self._runner.state not in ("ready", "stopped"):
            self._runner.stop()
        self.session.members = []

    def _settle(self) -> None:
        """Report once that all users are accepted, or that the time is over."""
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
    """Raise the limit of open files to its maximum, because each user needs a socket."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def main() -> None:
    """Execute commands until the input ends."""
    raise_open_files()
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # The runner handles Ctrl-C and a closed terminal.
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
    os._exit(0)  # Skips unwinding thousands of greenlets.


if __name__ == "__main__":
    main()
