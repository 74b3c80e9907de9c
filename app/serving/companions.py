"""The small processes that live and die with a server: the clock channel and the recorder.

Each ends when its standard input does, and the kernel closes that pipe whatever ends the parent: no orphans.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from app import clock
from app.core.errors import Unfit

START_TIMEOUT_S = 10.0

ROOT = Path(__file__).parents[2]


def start_clock(*, host: str, port: int) -> tuple[subprocess.Popen[bytes], int]:
    """The clock channel's process and its port. Raises `Unfit` when it does not come up."""
    process = _start(
        "app.clock_process",
        "--host", host,
        "--port", str(port),
        "--anchor-us", str(clock.anchor_us()),
        "--timebase", clock.timebase(),
    )  # fmt: skip
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], START_TIMEOUT_S)
    line = process.stdout.readline() if ready else b""
    if not line:
        stop(process)
        raise Unfit("The clock channel did not start.")
    return process, int(json.loads(line)["port"])


def start_recorder(folder: Path) -> subprocess.Popen[bytes]:
    """The process that puts posted deliveries of a run into its store."""
    return _start("app.experiment.recorder", "--folder", str(folder))


def stop(process: subprocess.Popen[bytes], timeout_s: float = 5.0) -> None:
    """End a companion: politely by its standard input, then not."""
    if process.stdin is not None:
        process.stdin.close()
    try:
        process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def on_parent_gone(pipe_fd: int, act: Callable[[], None]) -> None:
    """Call `act` once the other end of an inherited pipe is closed: the process that started us has gone."""

    def watch() -> None:
        while os.read(pipe_fd, 4096):
            pass
        act()

    threading.Thread(target=watch, name="siar-parent", daemon=True).start()


def _start(module: str, *arguments: str) -> subprocess.Popen[bytes]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SIAR_")}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.Popen(
        [sys.executable, "-P", "-m", module, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        start_new_session=True,  # Ctrl-C is for the server, which ends its companions in order
    )
