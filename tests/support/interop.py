"""Two Socket.IO clients by others behind one interface: npm's official one, and python-socketio's."""

from __future__ import annotations

import contextlib
import json
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

from tests.components import require_node, require_node_modules
from tests.support.patience import PATIENCE_S
from tests.support.server import ROOT

CLIENTS = ("javascript", "python")


class InteropClient:
    """A client in its own process, commanded by lines of JSON, which reports events as lines of JSON."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._reports: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    def wait(self, kind: str, **members: Any) -> dict[str, Any]:
        """Wait for its next report of this kind with these members, skipping others."""
        while True:
            report = self.next_report()
            if report["kind"] == kind and members.items() <= report.items():
                return report

    def wait_for_all(self, *wanted: dict[str, Any]) -> None:
        """Wait until each was reported, in any order."""
        missing = list(wanted)
        while missing:
            report = self.next_report()
            missing = [each for each in missing if not each.items() <= report.items()]

    def next_report(self) -> dict[str, Any]:
        """Wait for its next report."""
        report = self._reports.get(timeout=PATIENCE_S)
        assert report is not None, "the client ended"
        return report

    def next_event(self, namespace: str = "/") -> tuple[str, list[Any]]:
        """Return name and arguments of the next event."""
        report = self.wait("event", namespace=namespace)
        return report["event"], report["args"]

    def emit(self, event: str, *arguments: Any, namespace: str = "/") -> None:
        """Make it send an event."""
        self.tell(do="emit", event=event, args=arguments, namespace=namespace)

    def call(self, event: str, *arguments: Any, namespace: str = "/") -> list[Any]:
        """Make it send an event, and wait for the acknowledgement."""
        self.tell(do="call", event=event, args=arguments, namespace=namespace)
        answer: list[Any] = self.wait("ack")["args"]
        return answer

    def disconnect(self) -> None:
        """Make it disconnect from all its namespaces."""
        self.tell(do="disconnect", namespace="/")

    def break_off(self) -> None:
        """Break its connection, as a lost network would."""
        self._write("break")

    def tell(self, **command: Any) -> None:
        """Send it a command."""
        self._write(json.dumps(command))

    def _write(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with contextlib.suppress(ValueError):  # The file may be closed while it is read.
            for line in self._process.stdout:
                self._reports.put(json.loads(line))
        self._reports.put(None)


def _javascript() -> list[str]:
    node = require_node()
    require_node_modules()
    return [str(node), str(ROOT / "tests" / "js" / "interop_client.mjs")]


def _python() -> list[str]:
    return [sys.executable, "-W", "ignore", "-m", "tests.support.interop_client"]


_COMMANDS: dict[str, Callable[[], list[str]]] = {"javascript": _javascript, "python": _python}


@contextlib.contextmanager
def interop_client(kind: str, url: str, **options: Any) -> Iterator[InteropClient]:
    """Run a client that connects to `url`; it ends with the block."""
    with _talking_process([*_COMMANDS[kind](), url, json.dumps(options)]) as process:
        yield InteropClient(process)


@contextlib.contextmanager
def _talking_process(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    """Run a program that communicates in lines. It must end when its input does, at the end of the block."""
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as process:
        try:
            yield process
        finally:
            assert process.stdin is not None
            process.stdin.close()
            try:
                process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                process.kill()  # Otherwise, the end of this block would wait forever.
                raise
