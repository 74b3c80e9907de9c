"""Running clients: a process each, and the lines that it has said."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.clients.installing import Missing, command_of
from tests.clients.table import Client


@dataclass(frozen=True, slots=True)
class Line:
    """A line that a client printed, and its time."""

    at_s: float
    says: dict[str, Any]


class Program:
    """One client in a process of its own."""

    def __init__(self, command: Sequence[str], log: Path) -> None:
        self.lines: list[Line] = []
        self._log = log
        # `./siar` tells Python where our modules are, and not to look beside a program, where these have theirs.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        with log.open("wb") as errors:
            self.process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment
            )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def has_said(self, kind: str, **members: Any) -> bool:
        """True once it has said such a line."""
        return any(line.says["kind"] == kind and members.items() <= line.says.items() for line in self.lines)

    def end(self) -> None:
        """End it, and read what it said to the last line."""
        self.process.kill()
        self.process.wait()
        self._reader.join()

    def account(self) -> str:
        """All that it said, for whoever looks for a failure."""
        lines = [f"{line.at_s:.3f} {json.dumps(line.says)[:300]}" for line in self.lines]
        return "\n".join(
            [f"exit code: {self.process.poll()}", *lines, self._log.read_text(encoding="utf-8")[-4000:]]
        )

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as said:
            for line in said:
                self.lines.append(Line(time.monotonic(), json.loads(line)))


@contextlib.contextmanager
def running(
    clients: Sequence[Client], folders: Mapping[str, Path | Missing], url: str, logs: Path
) -> Iterator[dict[str, Program]]:
    """All whose libraries are there, by name, until the end of the block."""
    programs: dict[str, Program] = {}
    try:
        for number, client in enumerate(clients):
            folder = folders[client.language]
            if isinstance(folder, Path):
                programs[client.name] = Program(
                    command_of(client, folder, url), logs / f"client-{number}.log"
                )
        yield programs
    finally:
        for program in programs.values():
            program.end()


def wait_for_all(programs: Mapping[str, Program], longest_s: float, kind: str, **members: Any) -> None:
    """Until each has said so or the time is over: what is missing then is for the tests to tell."""
    deadline_s = time.monotonic() + longest_s
    while time.monotonic() < deadline_s:
        if all(program.has_said(kind, **members) for program in programs.values()):
            return
        time.sleep(0.02)
