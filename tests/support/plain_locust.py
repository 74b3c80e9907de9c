"""Plain Locust with one user of each transport, and its counts so far."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.patience import PATIENCE_S
from tests.support.server import ROOT

TRANSPORTS = ("sse", "socketio")

FILES = ("loadtests/locustfile.py", "tests/support/telling_locustfile.py")


@dataclass(frozen=True, slots=True)
class Counts:
    """Numbers of Locust's events by transport."""

    good: dict[str, Counter[str]]
    bad: dict[str, Counter[str]]

    def least(self, name: str) -> int:
        """Return the smallest number of events with this name over the transports, good or bad."""
        return min(self.good[each][name] + self.bad[each][name] for each in TRANSPORTS)

    def least_good(self, name: str) -> int:
        """Return the smallest number of good events with this name over the transports."""
        return min(self.good[each][name] for each in TRANSPORTS)

    def all(self, name: str) -> list[int]:
        """Return the number of events with this name for each transport."""
        return [self.good[each][name] + self.bad[each][name] for each in TRANSPORTS]


@dataclass(frozen=True, slots=True)
class PlainLocust:
    """A running Locust."""

    process: subprocess.Popen[bytes]
    events: Path
    log: Path

    def counts(self) -> Counts:
        """Return all events reported so far."""
        counts = Counts({each: Counter() for each in TRANSPORTS}, {each: Counter() for each in TRANSPORTS})
        if self.events.exists():
            for line in self.events.read_text(encoding="utf-8").splitlines(keepends=True):
                if line.endswith("\n"):
                    transport, name, is_bad = json.loads(line)
                    (counts.bad if is_bad else counts.good)[transport][name] += 1
        return counts

    def wait_for(self, name: str, count: int) -> None:
        """Wait until each transport's user has reported so many."""
        deadline_s = time.monotonic() + PATIENCE_S
        while self.counts().least(name) < count:
            self._wait_on(f"{count} x {name}", deadline_s)

    def wait_for_connections(self, count: int) -> None:
        """Wait until each transport's user has connected so often."""
        deadline_s = time.monotonic() + PATIENCE_S
        while self.counts().least_good("connect") < count:
            self._wait_on(f"{count} connections", deadline_s)

    def _wait_on(self, what: str, deadline_s: float) -> None:
        assert self.process.poll() is None, self.log.read_text(encoding="utf-8")
        assert time.monotonic() < deadline_s, f"{what}: {self.counts()}"
        time.sleep(0.02)


@contextlib.contextmanager
def plain_locust(folder: Path, host: str) -> Iterator[PlainLocust]:
    """Run one user of SSE and one of Socket.IO at `host` for the block."""
    events, log_path = folder / "told.jsonl", folder / "locust.log"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SIAR_")}
    with log_path.open("wb") as log:
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "locust", "-f", ",".join(str(ROOT / each) for each in FILES)),
                *("--headless", "--host", host, "-u", "2", "-r", "2", "SseUser", "SocketIoUser"),
            ],
            cwd=folder,
            stdout=log,
            stderr=log,
            env={**environment, "TOLD": str(events)},
        )
        try:
            yield PlainLocust(process, events, log_path)
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
