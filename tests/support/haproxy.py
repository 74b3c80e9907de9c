"""A real haproxy for a test, with the configuration that docs/operations.md recommends."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Iterator
from pathlib import Path

from app.lab.run import processes
from tests.components import require_tool
from tests.support.patience import PATIENCE_S
from tests.support.server import ROOT, free_port

BEGIN = "```haproxy\n"


@contextlib.contextmanager
def haproxy(folder: Path, backend: int) -> Iterator[int]:
    """Run a haproxy before a server on this port of loopback. Yields haproxy's port."""
    program = require_tool("haproxy", "haproxy")
    port = free_port()
    folder.mkdir(parents=True, exist_ok=True)
    lines = (ROOT / "docs" / "operations.md").read_text().split(BEGIN)[1].split("```")[0]
    for before, after in (
        ("bind :80", f"bind 127.0.0.1:{port}"),
        ("server siar 127.0.0.1:8080", f"server siar 127.0.0.1:{backend}"),
    ):
        assert before in lines
        lines = lines.replace(before, after)
    (folder / "haproxy.cfg").write_text(lines)
    with started([str(program), "-f", str(folder / "haproxy.cfg")], folder / "haproxy.log", port):
        yield port


@contextlib.contextmanager
def started(command: list[str], log_path: Path, port: int) -> Iterator[None]:
    """Run a program that listens on a port of loopback."""
    with log_path.open("wb") as log:
        process = processes.spawn(command, env=processes.environment(), stdout=log, stderr=log)
    try:
        deadline_s = time.monotonic() + PATIENCE_S
        while not _listens(port):
            assert process.poll() is None, log_path.read_text()
            assert time.monotonic() < deadline_s, log_path.read_text()
            time.sleep(0.02)
        yield
    finally:
        processes.stop(process, patience_s=5)


def _listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False
